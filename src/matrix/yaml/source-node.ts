import { dirname, resolve } from 'node:path';

import type { SourcePosition, Mistake } from '../../errors.ts';

/** A value of a matrix file with its position. After `extends`, parts come from several files. */
export type SourceNode = SourceMap | SourceList | SourceScalar;

export interface SourceMap {
  readonly kind: 'map';
  readonly at: SourcePosition;
  readonly entries: ReadonlyMap<string, SourceEntry>;
}

export interface SourceEntry {
  readonly keyAt: SourcePosition;
  readonly node: SourceNode;
}

interface SourceList {
  readonly kind: 'list';
  readonly at: SourcePosition;
  readonly items: readonly SourceNode[];
}

interface SourceScalar {
  readonly kind: 'scalar';
  readonly at: SourcePosition;
  readonly value: string | number | boolean | null;
}

export type SourcePath = readonly PropertyKey[];

export function toValue(node: SourceNode): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(toValue);
    case 'map':
      return Object.fromEntries([...node.entries].map(([key, entry]) => [key, toValue(entry.node)]));
  }
}

export function nodeAt(root: SourceNode, path: SourcePath): SourceNode | null {
  let node: SourceNode | undefined = root;
  for (const step of path) {
    if (node?.kind === 'map') node = node.entries.get(String(step))?.node;
    else if (node?.kind === 'list') node = node.items[Number(step)];
    else return null;
  }
  return node ?? null;
}

/** Merges maps by key and replaces other values. */
export function mergeNodes(base: SourceNode, over: SourceNode): SourceNode {
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const below = base.entries.get(key);
    entries.set(key, below === undefined ? entry : { keyAt: entry.keyAt, node: mergeNodes(below.node, entry.node) });
  }
  return { kind: 'map', at: over.at, entries };
}

export class MistakeList {
  readonly mistakes: Mistake[] = [];
  private readonly source: SourceNode;
  private readonly cwd: string;

  /** @param cwd folder to which the file names of `source` are relative */
  constructor(source: SourceNode, cwd = '') {
    this.source = source;
    this.cwd = cwd;
  }

  /** The absolute path of a file that is relative to the file that contains it. */
  pathFrom({ file }: Pick<SourcePosition, 'file'>, stated: string): string {
    return resolve(this.cwd, dirname(file), stated);
  }

  /** Position of the value at a path; for a path that leads nowhere, of its last existing part. */
  at(path: SourcePath): SourcePosition {
    return nodeAt(this.source, path)?.at ?? (path.length === 0 ? this.source.at : this.at(path.slice(0, -1)));
  }

  /** Position of the key at a path; for an element of a list, of the element. */
  keyAt(path: SourcePath): SourcePosition {
    const parent = nodeAt(this.source, path.slice(0, -1));
    const entry = parent?.kind === 'map' ? parent.entries.get(String(path.at(-1))) : undefined;
    return entry?.keyAt ?? this.at(path);
  }

  add(path: SourcePath, problem: string): void {
    this.addAt(this.at(path), problem);
  }

  addAtKey(path: SourcePath, problem: string): void {
    this.addAt(this.keyAt(path), problem);
  }

  addAt(at: SourcePosition, problem: string): void {
    this.mistakes.push({ at, problem });
  }
}
