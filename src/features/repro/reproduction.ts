import { posix } from 'node:path';

import type { ReproOutput } from './output.ts';

/** Files and programs of a command line that lie elsewhere on another machine. */
export const REPRO_FILES = ['trtexec', 'model', 'variant', 'engine', 'timingCache'] as const;

export type ReproFile = (typeof REPRO_FILES)[number];

export type ReproWord =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'file';
      readonly file: ReproFile;
      /** What is before it in the argument: `--loadEngine=`. */
      readonly head: string;
      /** A name that works from the current folder. */
      readonly name: string;
    };

export interface ReproCommand extends Omit<NonNullable<ReproOutput['run']>, 'localArgv'> {
  readonly words: readonly ReproWord[];
}

/** How another harness than trtexec was started, as its plan states it. */
export type ReproStart = NonNullable<ReproOutput['start']>;

/** How the model of an engine was made from another one. `args` is the command line behind the interpreter. */
export type ReproConversion = Omit<NonNullable<ReproOutput['conversion']>, 'argv'>;

/** An input of a base model, with the shape of one calibration step; its type as numpy names it: `<f4`. */
export type DrawnInput = NonNullable<ReproConversion['drawn']>[number];

export type HashedFile = ReproOutput['inputs'][number];

/** `external`: files with external data that the hash is over as well. */
export type ReproModel = NonNullable<ReproOutput['model']>;

/** Variables of a run; only names of a list are ever shown. */
export type LeftOutVariables = Pick<ReproOutput, 'env' | 'withheld'>;

/** What it takes to run a stored run again, with its program alone. */
export interface Reproduction extends Omit<
  ReproOutput,
  'schemaVersion' | 'conversion' | 'build' | 'run' | 'unknown' | 'script'
> {
  readonly conversion: ReproConversion | null;
  /** Null when nothing was built apart from the run, or nobody knows how. */
  readonly build: ReproCommand | null;
  /** Null for a build, and for a log that states its command line only as one text. */
  readonly run: ReproCommand | null;
}

/** Names for what bench keeps in its caches, in whatever folder the commands are given. */
const ENGINE = 'engine.plan';
const TIMING_CACHE = 'timing.cache';
const VARIANT = 'variant/variant.onnx';

const EXPORT = /^(--export(?:Times|Output|Profile|LayerInfo)=)(.*)$/s;

export interface LocalNames {
  readonly isVariant: boolean;
  /** The engine is a file of the user's own. */
  readonly isGiven: boolean;
}

/** The command line of another program, whose options may only look like those of trtexec. */
export function foreignWords(argv: readonly string[]): ReproWord[] {
  return argv.map((text) => ({ kind: 'text', text }));
}

/** A stored command line with names that work from the current folder. */
export function localWords(argv: readonly string[], names: LocalNames): ReproWord[] {
  const program = programPlace(argv);
  if (program === -1) return foreignWords(argv);
  return argv.map((argument, place) => {
    if (place < program) return { kind: 'text', text: argument };
    if (place > program) return localWord(argument, names);
    return { kind: 'file', file: 'trtexec', head: '', name: 'trtexec' };
  });
}

function localWord(argument: string, { isGiven, isVariant }: LocalNames): ReproWord {
  const equals = argument.indexOf('=') + 1;
  const [head, path] = [argument.slice(0, equals), argument.slice(equals)];
  switch (head) {
    case '--onnx=':
    case '--refitFromOnnx=':
      return isVariant
        ? { kind: 'file', file: 'variant', head, name: VARIANT }
        : { kind: 'file', file: 'model', head, name: path };
    case '--saveEngine=':
    case '--loadEngine=':
      return { kind: 'file', file: 'engine', head, name: isGiven ? path : ENGINE };
    case '--timingCacheFile=':
      return { kind: 'file', file: 'timingCache', head, name: TIMING_CACHE };
    default:
      return { kind: 'text', text: EXPORT.test(argument) ? head + posix.basename(path) : argument };
  }
}

/** What is given one of these first is trtexec, whatever it is called. */
const FIRST_OPTION = /^--(?:onnx|loadEngine)=/;
const PROGRAM = /(?:^|[/\\])[^/\\]*trtexec[^/\\]*$/;

/** Place of trtexec behind what may start it, such as `numactl` with its options; -1 when it is another program. */
export function programPlace(argv: readonly string[]): number {
  const option = argv.findIndex((argument) => FIRST_OPTION.test(argument));
  const named = argv.findIndex((argument) => PROGRAM.test(argument));
  if (named !== -1 && (option === -1 || named < option)) return named;
  if (option < 1) return -1;
  return argv[0] === 'numactl' ? option - 1 : 0;
}

export function localArgv(words: readonly ReproWord[]): string[] {
  return words.map((word) => (word.kind === 'text' ? word.text : word.head + word.name));
}
