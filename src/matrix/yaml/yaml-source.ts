import { type Alias, LineCounter, type Node, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import * as z from 'zod';
import type { $ZodIssue } from 'zod/v4/core';

import { MatrixError, type Mistake, type SourcePosition, throwMistakes } from '../../errors.ts';
import { didYouMean } from '../../text/nearest.ts';
import { MistakeList, nodeAt, type SourceEntry, type SourceNode, type SourcePath, toValue } from './source-node.ts';

/** Aliases can make a small file enormous. */
const MAX_NODES = 100_000;
const MAX_DEPTH = 100;

/** @throws MatrixError with every mistake */
export function readYaml(file: string, text: string): SourceNode {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const positionOf = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const mistakes: Mistake[] = [];
  const wrong = (at: SourcePosition, problem: string): SourceNode => {
    mistakes.push({ at, problem: `YAML: ${problem}` });
    return { kind: 'scalar', at, value: null };
  };
  for (const { pos, message } of [...document.errors, ...document.warnings]) {
    wrong(positionOf(pos[0]), message.split('\n', 1).join(''));
  }
  let count = 0;
  /** The anchors read so far; a later one replaces an earlier one of the same name. */
  const anchors = new Map<string, Node>();
  /** Ancestors of the current node. */
  const open = new Set<Node>();
  const read = (node: Node): SourceNode => {
    const at = positionOf(node.range?.[0] ?? 0);
    count += 1;
    if (count === MAX_NODES) wrong(at, 'the file is too large');
    if (count >= MAX_NODES) return { kind: 'scalar', at, value: null };
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined) return wrong(at, `anchor &${node.source} is not defined before it`);
      return open.has(target) ? wrong(at, `*${node.source} is part of itself`) : read(target);
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (open.size >= MAX_DEPTH) return wrong(at, 'nested too deeply');
    open.add(node);
    const found = readOpen(node, at);
    open.delete(node);
    return found;
  };
  const readOpen = (node: Exclude<Node, Alias>, at: SourcePosition): SourceNode => {
    if (isSeq<Node>(node)) return { kind: 'list', at, items: node.items.map(read) };
    if (!isMap<Node, Node | null>(node)) {
      return { kind: 'scalar', at, value: scalarValue(isScalar(node) ? node.value : null) };
    }
    const entries = new Map<string, SourceEntry>();
    for (const { key, value } of node.items) {
      const keyAt = positionOf(key.range?.[0] ?? 0);
      if (!isScalar(key) || key.value === '__proto__') {
        wrong(keyAt, 'a key must be a plain word');
        continue;
      }
      const inner: SourceNode = value === null ? { kind: 'scalar', at: keyAt, value: null } : read(value);
      // The library represents YAML 1.1's merge key as a symbol.
      if (typeof key.value === 'symbol' && key.value.description === '<<' && inner.kind === 'map') {
        for (const [name, entry] of inner.entries) if (!entries.has(name)) entries.set(name, entry);
      } else entries.set(String(key.value), { keyAt, node: inner });
    }
    return { kind: 'map', at, entries };
  };
  const { contents } = document;
  throwMistakes(mistakes);
  if (contents === null) return { kind: 'map', at: { file, line: 1, column: 1 }, entries: new Map() };
  const root = read(contents);
  throwMistakes(mistakes);
  return root;
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
export function readSchema<File>(root: SourceNode, schema: z.ZodType<File>): File {
  const result = schema.safeParse(toValue(root));
  if (result.success) return result.data;
  const faults = result.error.issues.flatMap((issue) => faultsOf(issue, []));
  const listed = new Set<string>();
  const list = new MistakeList(root);
  for (const fault of faults) {
    const at = fault.key === undefined ? list.at(fault.path) : list.keyAt(fault.path);
    list.addAt(at, problemOf(fault, root, schema, listed));
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

/** @param listed lists of known keys that were already shown, because each is shown once */
function problemOf({ path, issue, key }: Fault, source: SourceNode, schema: Schema, listed: Set<string>): string {
  if (key !== undefined) {
    const parent = path.slice(0, -1).reduce<Schema | null>((above, step) => childOf(above, String(step)), schema);
    const allowed = [...new Set(keysOf(parent))];
    const [meant, known] = [didYouMean(key, allowed), ` (known: ${allowed.join(', ')})`];
    const isNews = meant === '' && allowed.length > 0 && !listed.has(known);
    if (isNews) listed.add(known);
    return `unknown key "${key}"${isNews ? known : meant}`;
  }
  const name = path.filter((step) => typeof step === 'string').join('.') || 'the matrix';
  const node = nodeAt(source, path);
  if (node === null) return `${name} is missing`;
  const shown = node.kind === 'scalar' ? JSON.stringify(node.value) : `a ${node.kind}`;
  const words = allowedWords(issue);
  return words.length > 0
    ? `${name}: ${shown} is not one of ${words.join(', ')}${guessOf(String(toValue(node)), words)}`
    : `${name}: ${shown}: ${expectation(issue)}`;
}

/** By its letters, `no` is closer to `on` than to `off`. */
const SWITCH_WORDS: Readonly<Record<string, string>> = {
  yes: 'on',
  y: 'on',
  enabled: 'on',
  no: 'off',
  n: 'off',
  disabled: 'off',
};

function guessOf(text: string, words: readonly string[]): string {
  const meant = SWITCH_WORDS[text.toLowerCase()];
  return meant !== undefined && words.includes(meant) ? `; did you mean "${meant}"?` : didYouMean(text, words);
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
      const kinds = issue.errors.flat().flatMap((inner) => (inner.code === 'invalid_type' ? [inner.expected] : []));
      return kinds.length > 0 ? `${[...new Set(kinds)].map(kindWords).join(' or ')} is needed` : 'is not valid here';
    }
    default:
      return issue.message;
  }
}

type Schema = z.core.$ZodType;

function keysOf(schema: Schema | null): string[] {
  if (schema instanceof z.ZodOptional) return keysOf(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(keysOf);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** The schema for a key or for the elements of a list; null if there is none. */
function childOf(schema: Schema | null, step: string): Schema | null {
  if (schema instanceof z.ZodOptional) return childOf(schema.unwrap(), step);
  if (schema instanceof z.ZodRecord) return schema.valueType;
  if (schema instanceof z.ZodArray) return schema.element;
  if (schema instanceof z.ZodUnion) {
    const children = schema.options.map((option) => childOf(option, step));
    return children.find((child) => child !== null) ?? null;
  }
  if (!(schema instanceof z.ZodObject)) return null;
  const { catchall } = schema.def;
  return schema.shape[step] ?? (catchall === undefined || catchall instanceof z.ZodNever ? null : catchall);
}
