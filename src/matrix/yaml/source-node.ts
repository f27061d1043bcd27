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

export function emptyMap(at: SourcePosition): SourceMap {
  return { kind: 'map', at, entries: new Map() };
}

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

/** Position of the value at a path; for a path that leads nowhere, of its last existing part. */
export function positionAt(root: SourceNode, path: SourcePath): SourcePosition {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = nodeAt(root, path.slice(0, length));
    if (node !== null) return node.at;
  }
  return root.at;
}

/** Position of the key at a path; for an element of a list, of the element. */
export function keyPositionAt(root: SourceNode, path: SourcePath): SourcePosition {
  const parent = nodeAt(root, path.slice(0, -1));
  const entry = parent?.kind === 'map' ? parent.entries.get(String(path.at(-1))) : undefined;
  return entry?.keyAt ?? positionAt(root, path);
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
  constructor(source: SourceNode, cwd: string) {
    this.source = source;
    this.cwd = cwd;
  }

  /** The absolute path of a file that is relative to the file that contains it. */
  pathFrom({ file }: Pick<SourcePosition, 'file'>, stated: string): string {
    return resolve(this.cwd, dirname(file), stated);
  }

  at(path: SourcePath): SourcePosition {
    return positionAt(this.source, path);
  }

  keyAt(path: SourcePath): SourcePosition {
    return keyPositionAt(this.source, path);
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

/** By position; of equal mistakes on a line the first. */
export function sortMistakes(mistakes: readonly Mistake[]): Mistake[] {
  const seen = new Set<string>();
  return mistakes
    .toSorted((a, b) => a.at.file.localeCompare(b.at.file) || a.at.line - b.at.line || a.at.column - b.at.column)
    .filter(({ at, problem }) => {
      const key = `${at.file}:${at.line}:${problem}`;
      return seen.has(key) ? false : seen.add(key);
    });
}
