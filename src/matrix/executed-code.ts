import type { Mistake } from '../errors.ts';
import { printable } from '../text/printable.ts';
import type { SourceNode } from './yaml/source-node.ts';

interface Rule {
  /** From the top of a matrix; `*` is any name, a leading `**` any path. */
  readonly path: readonly string[];
  readonly key: RegExp;
  readonly what: string;
}

/** Everything in a matrix that executes code; refused by `bench run --untrusted`. */
export const CODE_RULES: readonly Rule[] = [
  { path: [], key: /^trtexec$/, what: 'is started in place of trtexec, also by bench plan' },
  { path: [], key: /^allowUnknownFlags$/, what: 'passes on flags of which bench does not know what they load' },
  { path: [], key: /^(?:drivers|reporters)$/, what: 'loads code into bench' },
  { path: [], key: /^slurm$/, what: 'hands options, variables and images to sbatch' },
  { path: ['gate'], key: /^notify$/, what: 'is started by bench check' },
  { path: ['**'], key: /^python$/, what: 'is started as an interpreter' },
  { path: ['models', '*'], key: /^harness$/, what: 'starts a program' },
  { path: ['models', '*'], key: /^engine$/, what: 'is an engine, which may carry libraries' },
  { path: ['precisions', '*'], key: /^engine$/, what: 'is an engine, which may carry libraries' },
  { path: ['models', '*', 'precisions', '*'], key: /^engine$/, what: 'is an engine, which may carry libraries' },
  { path: [], key: /^plugins$/, what: 'loads libraries' },
  { path: ['models', '*'], key: /^plugins$/, what: 'loads libraries' },
  {
    path: ['**'],
    key: /^--?(?:plugins|(?:static|dynamic|safety)Plugins|setPluginsToSerialize|leanDLLPath)$/,
    what: 'loads libraries',
  },
  { path: ['**'], key: /^--?loadEngine$/, what: 'loads an engine, which may carry libraries' },
  {
    path: ['**'],
    key: /^--?(?:save\w+|dump\w+ToFile|\w+CacheFile|tun\w+File|tempdir|export\w+)$/,
    what: 'writes a file of its own choice',
  },
  { path: ['**'], key: /^--?remote\w+$/, what: 'connects to another machine' },
  { path: ['**', 'calibration'], key: /^data$/, what: 'is loaded by Python, which may run what is pickled in it' },
  { path: ['axes'], key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
  { path: ['models', '*', 'axes'], key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
  { path: ['include', '*'], key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
];

/** What a matrix would start or load, including what it extends. */
export function executedCode(root: SourceNode): Mistake[] {
  return [...codeUnder(root, [])];
}

function* codeUnder(node: SourceNode, path: readonly string[]): Generator<Mistake> {
  if (node.kind === 'list') {
    for (const [index, item] of node.items.entries()) yield* codeUnder(item, [...path, String(index)]);
  }
  if (node.kind !== 'map') return;
  for (const [key, entry] of node.entries) {
    const rule = CODE_RULES.find((each) => each.key.test(key) && isAt(each.path, path));
    const isOff = entry.node.kind === 'scalar' && (entry.node.value === false || entry.node.value === null);
    if (rule === undefined || isOff) yield* codeUnder(entry.node, [...path, key]);
    else {
      const named = nameOf(entry.node);
      const shown = named === null ? '' : ` (${printable(named)})`;
      yield { at: entry.keyAt, problem: `${[...path, key].join('.')}: ${rule.what}${shown}` };
    }
  }
}

function isAt(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern[0] === '**') {
    const last = pattern.slice(1);
    return last.length <= path.length && isAt(last, path.slice(path.length - last.length));
  }
  return pattern.length === path.length && pattern.every((step, index) => step === '*' || step === path[index]);
}

const MOST_SHOWN = 80;

function nameOf(node: SourceNode): string | null {
  const command = texts(node.kind === 'map' ? (node.entries.get('run')?.node ?? node) : node).join(' ');
  if (command === '') return null;
  return command.length > MOST_SHOWN ? `${command.slice(0, MOST_SHOWN)}…` : command;
}

function texts(node: SourceNode): string[] {
  switch (node.kind) {
    case 'scalar':
      return [String(node.value)];
    case 'list':
      return node.items.flatMap(texts);
    case 'map':
      return [...node.entries].map(([key, entry]) => `${key}: ${texts(entry.node).join(' ')}`);
  }
}
