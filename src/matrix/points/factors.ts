import * as z from 'zod';

import { MatrixError } from '../../errors.ts';
import { type Immutable, textOrNull } from '../../records/scalars.ts';
import { MistakeList, sortMistakes, nodeAt, type SourceMap, type SourceNode } from '../yaml/source-node.ts';
import { didYouMean } from '../../text/nearest.ts';
import { readYaml } from '../yaml/yaml-source.ts';

/** Settings of a factor on one side; others stay as they are. */
const factorSettingSchema = z.object({
  trtexec: z.string().optional(),
  replay: z.string().optional(),
  matrix: z.string().optional(),
  /** An ONNX file in place of the matrix's own. */
  model: z.string().optional(),
  /** Initial timing cache of the build; null for an empty one. */
  timingCache: textOrNull.optional(),
  /** Null unsets a variable. */
  env: z.record(z.string(), textOrNull).optional(),
  /** Command before every build and run; empty for none. */
  before: z.array(z.string()).optional(),
});

export type FactorSetting = Immutable<z.infer<typeof factorSettingSchema>>;

interface Factor {
  readonly name: string;
  readonly good: FactorSetting;
  readonly bad: FactorSetting;
}

interface FactorFiles {
  readonly cwd: string;
  readonly isThere: (path: string) => boolean;
}

const SIDES = ['good', 'bad'] as const;
const PATHS = ['trtexec', 'matrix', 'model', 'timingCache'] as const;
const KINDS = [...PATHS, 'replay', 'env', 'before'] as const;
const NOTHING: FactorSetting = {};

/**
 * Reads a table of factors: `factors: {NAME: {trtexec: {good: PATH, bad: PATH}, env: {good: {A: x}, bad: {}}}}`. What
 * is under one name is switched together. Paths are from the file's own folder.
 * @param file its path as the user gave it: mistakes are shown with it
 * @throws MatrixError with every mistake that was found
 */
export function readFactors(file: string, text: string, files: FactorFiles): Factor[] {
  const { root, mistakes: syntax } = readYaml(file, text);
  if (syntax.length > 0) throw new MatrixError(sortMistakes(syntax));
  const list = new MistakeList(root, files.cwd);
  const table = nodeAt(root, ['factors']);
  const factors: Factor[] = [];
  if (root.kind !== 'map' || table?.kind !== 'map' || table.entries.size === 0) {
    list.add(
      ['factors'],
      'factors: a map of names is needed, such as factors: {cache: {timingCache: {good: a, bad: b}}}',
    );
  } else {
    unknownKeys(root, [], ['factors'], list);
    const reader = new SettingReader(list, files);
    for (const name of table.entries.keys()) {
      const good = reader.read(table, name, 'good');
      const bad = reader.read(table, name, 'bad');
      factors.push({ name, good, bad });
      if (list.mistakes.length === 0 && JSON.stringify(good) === JSON.stringify(bad)) {
        list.addAtKey(['factors', name], `${name}: good and bad are the same`);
      }
    }
  }
  if (list.mistakes.length === 0) addConflicts(factors, list);
  if (list.mistakes.length > 0) throw new MatrixError(sortMistakes(list.mistakes));
  return factors;
}

/** Two factors must not set the same thing. */
function addConflicts(factors: readonly Factor[], list: MistakeList): void {
  const switchedBy = new Map<string, string>();
  for (const { name, good, bad } of factors) {
    const variables = [good.env, bad.env].flatMap((env) => Object.keys(env ?? {}));
    const kinds = Object.keys({ ...good, ...bad }).filter((kind) => kind !== 'env' && kind !== 'before');
    for (const axis of new Set([...kinds, ...variables.map((variable) => `env.${variable}`)])) {
      const earlier = switchedBy.get(axis);
      if (earlier === undefined) switchedBy.set(axis, name);
      else list.addAtKey(['factors', name], `${name}: ${axis} is switched by ${earlier} already`);
    }
  }
}

function unknownKeys(map: SourceMap, path: readonly string[], known: readonly string[], list: MistakeList): void {
  for (const key of map.entries.keys()) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known) || ` (known: ${known.join(', ')})`;
    list.addAtKey([...path, key], `unknown key "${key}"${hint}`);
  }
}

class SettingReader {
  private readonly list: MistakeList;
  private readonly files: FactorFiles;

  constructor(list: MistakeList, files: FactorFiles) {
    this.list = list;
    this.files = files;
  }

  read(table: SourceMap, name: string, side: (typeof SIDES)[number]): FactorSetting {
    const path = ['factors', name];
    const factor = nodeAt(table, [name]);
    if (factor?.kind !== 'map' || factor.entries.size === 0) {
      this.list.addAtKey(path, `${name}: what is switched? One or more of ${KINDS.join(', ')}`);
      return NOTHING;
    }
    unknownKeys(factor, path, KINDS, this.list);
    const parts = KINDS.flatMap((kind): FactorSetting[] => {
      const both = factor.entries.get(kind)?.node;
      if (both === undefined) return [];
      const at = [...path, kind];
      if (both.kind !== 'map') {
        this.list.add(at, `${name}.${kind}: {good: ..., bad: ...} is needed`);
        return [];
      }
      unknownKeys(both, at, SIDES, this.list);
      const value = both.entries.get(side)?.node;
      if (value !== undefined) {
        return [this.value(kind, value, `${name}.${kind}.${side}`, [...at, side])];
      }
      this.list.addAtKey(at, `${name}.${kind}: ${side} is missing`);
      return [];
    });
    const setting: FactorSetting = Object.assign({}, ...parts);
    return setting;
  }

  private value(kind: (typeof KINDS)[number], node: SourceNode, shown: string, at: readonly string[]): FactorSetting {
    if (kind === 'env') return { env: this.variables(node, shown, at) };
    if (kind === 'before') return { before: this.words(node, shown, at) };
    if (kind === 'timingCache' && node.kind === 'scalar' && node.value === null) {
      return { timingCache: null };
    }
    if (node.kind !== 'scalar' || typeof node.value !== 'string' || node.value === '') {
      this.list.add(at, `${shown}: ${kind === 'replay' ? 'the name of a set' : 'a path'} is needed`);
      return NOTHING;
    }
    if (kind === 'replay') return { replay: node.value };
    const path = this.list.pathFrom(node.at, node.value);
    if (!this.files.isThere(path)) this.list.add(at, `${shown}: ${node.value}: no such file`);
    return { [kind]: path };
  }

  private variables(node: SourceNode, shown: string, at: readonly string[]) {
    const env: Record<string, string | null> = {};
    if (node.kind !== 'map') {
      this.list.add(at, `${shown}: a map of variables is needed; {} for none`);
      return env;
    }
    for (const [name, entry] of node.entries) {
      const { node: value } = entry;
      if (!/^[^=\0]+$/.test(name)) this.list.addAtKey([...at, name], `${shown}: no name of a variable`);
      if (value.kind === 'scalar') env[name] = value.value === null ? null : String(value.value);
      else this.list.add([...at, name], `${shown}.${name}: a text is needed; null takes the variable away`);
    }
    return env;
  }

  /** A list of words: no shell splits them. */
  private words(node: SourceNode, shown: string, at: readonly string[]): string[] {
    const items = node.kind === 'list' ? node.items : [];
    const words = items.flatMap((item) => (item.kind === 'scalar' && item.value !== null ? [String(item.value)] : []));
    if (node.kind !== 'list' || words.length !== items.length) {
      this.list.add(at, `${shown}: a list of words is needed, such as [nvidia-smi, -lgc, "1500"]; [] for nothing`);
    }
    return words;
  }
}
