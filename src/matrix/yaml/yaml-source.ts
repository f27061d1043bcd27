import { type Alias, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';

import type { Mistake, SourcePosition } from '../../errors.ts';
import { emptyMap, type SourceEntry, type SourceNode } from './source-node.ts';

/** Aliases can make a small file enormous. */
const MAX_NODES = 100_000;
const MAX_DEPTH = 100;

export function readYaml(file: string, text: string) {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, merge: true });
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    at: positionOf(file, lineCounter, pos[0]),
    problem: `YAML: ${firstLine(message)}`,
  }));
  const start: SourcePosition = { file, line: 1, column: 1 };
  if (mistakes.length > 0 || document.contents === null) return { root: emptyMap(start), mistakes };
  const reader = new NodeReader(file, lineCounter);
  const root = reader.read(document.contents);
  return { root, mistakes: reader.mistakes };
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? text;
}

function positionOf(file: string, lines: LineCounter, offset: number): SourcePosition {
  const { line, col } = lines.linePos(offset);
  return { file, line: Math.max(1, line), column: Math.max(1, col) };
}

class NodeReader {
  readonly mistakes: Mistake[] = [];
  private count = 0;
  /** The anchors read so far; a later one replaces an earlier one of the same name. */
  private readonly anchors = new Map<string, Node>();
  /** Ancestors of the current node. */
  private readonly open = new Set<Node>();
  private readonly file: string;
  private readonly lines: LineCounter;

  constructor(file: string, lines: LineCounter) {
    this.file = file;
    this.lines = lines;
  }

  read(node: Node): SourceNode {
    const at = positionOf(this.file, this.lines, node.range?.[0] ?? 0);
    this.count += 1;
    if (this.count > MAX_NODES) {
      if (this.count === MAX_NODES + 1) this.mistakes.push({ at, problem: 'too large a file' });
      return { kind: 'scalar', at, value: null };
    }
    if (isAlias(node)) {
      const target = this.anchors.get(node.source);
      if (target === undefined) return this.wrong(at, `no anchor &${node.source} before it`);
      if (this.open.has(target)) return this.wrong(at, `*${node.source} is part of itself`);
      return this.read(target);
    }
    if (node.anchor !== undefined) this.anchors.set(node.anchor, node);
    if (this.open.size >= MAX_DEPTH) return this.wrong(at, 'too deep');
    this.open.add(node);
    const read = this.readOpen(node, at);
    this.open.delete(node);
    return read;
  }

  private wrong(at: SourcePosition, problem: string): SourceNode {
    this.mistakes.push({ at, problem: `YAML: ${problem}` });
    return { kind: 'scalar', at, value: null };
  }

  private readOpen(node: Exclude<Node, Alias>, at: SourcePosition): SourceNode {
    if (isSeq<Node>(node)) return { kind: 'list', at, items: node.items.map((item) => this.read(item)) };
    if (isMap<Node, Node | null>(node)) {
      const entries = new Map<string, SourceEntry>();
      for (const { key, value } of node.items) {
        const keyAt = positionOf(this.file, this.lines, key.range?.[0] ?? 0);
        if (!isScalar(key)) {
          this.mistakes.push({ at: keyAt, problem: 'a key must be a plain word' });
          continue;
        }
        if (key.value === '__proto__') {
          this.mistakes.push({ at: keyAt, problem: '"__proto__" cannot be a name' });
          continue;
        }
        const inner: SourceNode = value === null ? { kind: 'scalar', at: keyAt, value: null } : this.read(value);
        if (isMergeKey(key.value) && inner.kind === 'map') {
          for (const [name, entry] of inner.entries) if (!entries.has(name)) entries.set(name, entry);
        } else entries.set(String(key.value), { keyAt, node: inner });
      }
      return { kind: 'map', at, entries };
    }
    return { kind: 'scalar', at, value: scalarValue(isScalar(node) ? node.value : null) };
  }
}

/** The library represents YAML 1.1's merge key as a symbol. */
function isMergeKey(value: unknown): boolean {
  return typeof value === 'symbol' && value.description === '<<';
}

function scalarValue(value: unknown): string | number | boolean | null {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : value === null
      ? null
      : String(value);
}
