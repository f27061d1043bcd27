import { dirname, resolve } from 'node:path';

import { type Alias, LineCounter, type Node, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import * as z from 'zod';
import type { $ZodIssue } from 'zod/v4/core';

import { MatrixError, type Mistake, type SourcePosition, throwMistakes } from '../../errors.ts';
import { didYouMean } from '../../text/nearest.ts';
import { isRecord } from '../../text/unknown-values.ts';

export type SourcePath = readonly PropertyKey[];

export interface Placed<Value> {
  readonly value: Value;
  readonly at: SourcePosition;
}

interface Place {
  readonly at: SourcePosition;
  /** For an element of a list, the element. */
  readonly keyAt: SourcePosition;
}

/** A file as plain values, with the places of its parts. After `extends`, parts come from several files. */
export interface Source {
  readonly value: unknown;
  /** By path, in the form of `placeKey`. The root has a place. */
  readonly places: ReadonlyMap<string, Place>;
}

function placeKey(path: SourcePath): string {
  return JSON.stringify(path.map(String));
}

/** Keys of a map that cannot be used together: stated ones of one list replace those of the other in the base. */
const ALTERNATIVES: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  run: [['capture'], ['warmUpMs', 'durationS', 'iterations']],
  build: [['profiles'], ['min', 'opt', 'max']],
};

/** Merges maps by key and replaces other values; null takes a value away, but unsets a variable on an axis. */
export function mergeSources(base: Source, over: Source): Source {
  return { value: merged(base.value, over.value), places: new Map([...base.places, ...over.places]) };
}

function merged(base: unknown, over: unknown, name = ''): unknown {
  if (!isRecord(base) || !isRecord(over)) return over;
  const isStated = (key: string): boolean => (over[key] ?? null) !== null;
  const [one = [], other = []] = ALTERNATIVES[name] ?? [];
  const gone = [...(one.some(isStated) ? other : []), ...(other.some(isStated) ? one : [])];
  const kept = Object.entries(base).filter(([key]) => !gone.includes(key));
  const own = Object.entries(over).map(([key, value]) => [
    key,
    Object.hasOwn(base, key) ? merged(base[key], value, key) : value,
  ]);
  const isLeft = ([key, value]: [string, unknown]): boolean => value !== null || name === 'env' || !(key in base);
  return Object.fromEntries(Object.entries({ ...Object.fromEntries(kept), ...Object.fromEntries(own) }).filter(isLeft));
}

/** Collects mistakes with their positions. */
export class MistakeList {
  readonly mistakes: Mistake[] = [];
  private readonly places: Source['places'];
  private readonly cwd: string;

  /** @param cwd folder to which the file names of the source are relative */
  constructor({ places }: Source, cwd = '') {
    this.places = places;
    this.cwd = cwd;
  }

  /** The absolute path of a file that is relative to the file that contains it. */
  pathFrom({ file }: Pick<SourcePosition, 'file'>, stated: string): string {
    return resolve(this.cwd, dirname(file), stated);
  }

  /** A file that is stated at a path. */
  fileAt(path: SourcePath, stated: string): Placed<string> {
    const at = this.at(path);
    return { value: this.pathFrom(at, stated), at };
  }

  /** Position of the value at a path; for a path that leads nowhere, of its last existing part. */
  at(path: SourcePath): SourcePosition {
    const place = this.places.get(placeKey(path));
    return place?.at ?? (path.length === 0 ? { file: '', line: 1, column: 1 } : this.at(path.slice(0, -1)));
  }

  /** Position of the key at a path. */
  keyAt(path: SourcePath): SourcePosition {
    return this.places.get(placeKey(path))?.keyAt ?? this.at(path);
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

/** Aliases can make a small file enormous. */
const MAX_NODES = 100_000;
const MAX_DEPTH = 100;

/** @throws MatrixError with every mistake */
export function readYaml(file: string, text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const positionOf = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const mistakes: Mistake[] = [];
  const wrong = (at: SourcePosition, problem: string): null => {
    mistakes.push({ at, problem: `YAML: ${problem}` });
    return null;
  };
  // What follows the first one in a file is mostly its consequence.
  for (const { code, message, pos } of [...document.errors, ...document.warnings].slice(0, 1)) {
    const isSecond = code === 'MULTIPLE_DOCS';
    wrong(positionOf(pos[0]), isSecond ? 'a second document; a matrix is one' : message.split('\n', 1).join(''));
  }
  throwMistakes(mistakes);
  const places = new Map<string, Place>();
  let count = 0;
  /** The anchors read so far; a later one replaces an earlier one of the same name. */
  const anchors = new Map<string, Node>();
  /** Ancestors of the current node. */
  const open = new Set<Node>();
  const read = (node: Node | null, path: SourcePath, keyAt?: SourcePosition): unknown => {
    const at = node === null && keyAt !== undefined ? keyAt : positionOf(node?.range?.[0] ?? 0);
    count += 1;
    if (count === MAX_NODES) wrong(at, 'the file is too large');
    if (count >= MAX_NODES) return null;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined) return wrong(at, `anchor &${node.source} is not defined before it`);
      return open.has(target) ? wrong(at, `*${node.source} is part of itself`) : read(target, path, keyAt);
    }
    if (node?.anchor !== undefined) anchors.set(node.anchor, node);
    if (open.size >= MAX_DEPTH) return wrong(at, 'nested too deeply');
    if (node !== null) open.add(node);
    const value = readOpen(node, path);
    if (node !== null) open.delete(node);
    // After its parts: a merged map is read at the path of the map that takes it.
    places.set(placeKey(path), { at, keyAt: keyAt ?? at });
    return value;
  };
  const readOpen = (node: Exclude<Node, Alias> | null, path: SourcePath): unknown => {
    if (isSeq<Node>(node)) return node.items.map((item, index) => read(item, [...path, index]));
    if (!isMap<Node, Node | null>(node)) return scalarValue(isScalar(node) ? node.value : null);
    const entries = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const keyAt = positionOf(key.range?.[0] ?? 0);
      // The library represents YAML 1.1's merge key as a symbol.
      if (isScalar(key) && typeof key.value === 'symbol' && value !== null) {
        const inner = read(value, path);
        for (const [name, each] of Object.entries(isRecord(inner) ? inner : {})) {
          if (!entries.has(name)) entries.set(name, each);
        }
      } else if (!isScalar(key) || key.value === '__proto__') wrong(keyAt, 'a key must be a plain word');
      else entries.set(String(key.value), read(value, [...path, String(key.value)], keyAt));
    }
    return Object.fromEntries(entries);
  };
  const value = read(document.contents, [], positionOf(0)) ?? {};
  throwMistakes(mistakes);
  return { value, places };
}

function scalarValue(value: unknown): string | number | boolean | null {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  return typeof value === 'bigint' ? Number(value) : String(value);
}

/**
 * Checks the form of a file; the meaning of its values is checked only when the form is right.
 * @throws MatrixError with every mistake
 */
export function readSchema<File>(source: Source, schema: z.ZodType<File>): File {
  const result = schema.safeParse(source.value, {
    reportInput: true,
    error: ({ code, inst }) => {
      const keys = inst instanceof z.ZodObject ? inst.keyof() : inst instanceof z.ZodRecord ? inst.keyType : null;
      return code === 'unrecognized_keys' && keys instanceof z.ZodEnum ? keys.options.join(', ') : undefined;
    },
  });
  if (result.success) return result.data;
  const list = new MistakeList(source);
  const listed = new Set<string>();
  for (const fault of result.error.issues.flatMap((issue) => faultsOf(issue, []))) {
    list.addAt(fault.key === undefined ? list.at(fault.path) : list.keyAt(fault.path), problemOf(fault, listed));
  }
  throw new MatrixError(list.mistakes);
}

interface Fault {
  readonly path: SourcePath;
  readonly issue: $ZodIssue;
  /** An unknown key. */
  readonly key?: string;
}

/** One fault per wrong key; for a union, the faults of the alternative that was likely meant. */
function faultsOf(issue: $ZodIssue, base: SourcePath): Fault[] {
  const path = [...base, ...issue.path];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ path: [...path, key], issue, key }));
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const deepest = issue.errors
      .map((alternative) => alternative.flatMap((inner) => faultsOf(inner, path)))
      .toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0];
    if (deepest !== undefined && depthOf(deepest) > path.length) return deepest;
  }
  return issue.code === 'invalid_key' ? [{ path, issue, key: String(path.at(-1)) }] : [{ path, issue }];
}

function depthOf(faults: readonly Fault[]): number {
  return Math.max(0, ...faults.map(({ path }) => path.length));
}

/** @param listed lists of known keys that a mistake before has */
function problemOf({ path, issue, key }: Fault, listed: Set<string>): string {
  if (key !== undefined) {
    const known = issue.code === 'unrecognized_keys' ? issue.message : '';
    const near = didYouMean(key, known.split(', '));
    if (near !== '' || known === '' || listed.has(known)) return `unknown key "${key}"${near}`;
    listed.add(known);
    return `unknown key "${key}" (known: ${known})`;
  }
  const name = path.filter((step) => typeof step === 'string').join('.') || 'the matrix';
  const { input } = issue;
  if (input === undefined) return `${name} is missing`;
  const shown = Array.isArray(input) ? 'a list' : isRecord(input) ? 'a map' : JSON.stringify(input);
  const words = allowedWords(issue);
  return words.length > 0
    ? `${name}: ${shown} is not one of ${words.join(', ')}${words.includes('off') ? '' : didYouMean(String(input), words)}`
    : `${name}: ${shown}: ${expectation(issue)}`;
}

function allowedWords(issue: $ZodIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code !== 'invalid_union') return [];
  return [...new Set(issue.errors.flatMap((alternative) => alternative.flatMap(allowedWords)))];
}

/** The kinds of zod that read otherwise with an article, or in YAML. */
const KIND_WORDS: Readonly<Record<string, string>> = { array: 'a list', int: 'a whole number', object: 'a map' };

const kindWords = (kind: string): string => KIND_WORDS[kind] ?? `a ${kind}`;

function expectation(issue: $ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `${kindWords(issue.expected)} is needed`;
    case 'too_small':
      return issue.origin === 'array'
        ? 'the list is empty'
        : `must be ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_format':
      return issue.message.startsWith('Invalid') ? 'has an invalid format' : issue.message;
    case 'invalid_union': {
      const inner = issue.errors.flat();
      const kinds = inner.flatMap((one) => (one.code === 'invalid_type' ? [one.expected] : []));
      if (kinds.length > 0) return `${[...new Set(kinds)].map(kindWords).join(' or ')} is needed`;
      return inner[0] === undefined ? 'is not valid here' : expectation(inner[0]);
    }
    default:
      return issue.message;
  }
}
