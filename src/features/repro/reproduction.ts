import { posix } from 'node:path';

import type { ReproOutput } from './output.ts';

/** Files and programs whose paths differ on another machine. */
export const REPRO_FILES = ['trtexec', 'model', 'variant', 'engine', 'timingCache'] as const;

export type ReproFile = (typeof REPRO_FILES)[number];

export type ReproWord =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'file';
      readonly file: ReproFile;
      /** What is before it in the argument: `--loadEngine=`. */
      readonly head: string;
      /** Relative to the current folder. */
      readonly name: string;
    };

export interface ReproCommand extends Omit<NonNullable<ReproOutput['run']>, 'localArgv'> {
  readonly words: readonly ReproWord[];
}

/** As its plan states it. */
export type ReproStart = NonNullable<ReproOutput['start']>;

/** How a model was converted. `args` follows the interpreter. */
export type ReproConversion = Omit<NonNullable<ReproOutput['conversion']>, 'argv'>;

/** An input of the base model with the shape of one calibration step; type as in numpy: `<f4`. */
export type DrawnInput = NonNullable<ReproConversion['drawn']>[number];

export type HashedFile = ReproOutput['inputs'][number];

/** `external`: external data files included in the hash. */
export type ReproModel = NonNullable<ReproOutput['model']>;

/** Only names of a fixed list are ever shown. */
export type LeftOutVariables = Pick<ReproOutput, 'env' | 'withheld'>;

export interface Reproduction extends Omit<
  ReproOutput,
  'schemaVersion' | 'conversion' | 'build' | 'run' | 'unknown' | 'script'
> {
  readonly conversion: ReproConversion | null;
  /** Null when nothing was built apart from the run, or the command is unknown. */
  readonly build: ReproCommand | null;
  /** Null for a build, and for a log with its command line as plain text. */
  readonly run: ReproCommand | null;
}

const ENGINE = 'engine.plan';
const TIMING_CACHE = 'timing.cache';
const VARIANT = 'variant/variant.onnx';

const EXPORT = /^(--export(?:Times|Output|Profile|LayerInfo)=)(.*)$/s;

export interface LocalNames {
  readonly isVariant: boolean;
  readonly isGiven: boolean;
}

/** Words of another program, whose options may look like trtexec's. */
export function foreignWords(argv: readonly string[]): ReproWord[] {
  return argv.map((text) => ({ kind: 'text', text }));
}

/** Replaces paths by names in the current folder. */
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

/** A program with one of these as its first option is trtexec, whatever its name. */
const FIRST_OPTION = /^--(?:onnx|loadEngine)=/;
const PROGRAM = /(?:^|[/\\])[^/\\]*trtexec[^/\\]*$/;

/** Index of trtexec behind launchers such as `numactl`; -1 for another program. */
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
