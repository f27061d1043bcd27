import type { ReproOutput } from './output.ts';

/** Files and programs of a command line that lie elsewhere on another machine. */
export const REPRO_FILES = ['trtexec', 'model', 'variant', 'engine', 'timingCache'] as const;

export type ReproFile = (typeof REPRO_FILES)[number];

/** One argument of a command line that is to be repeated. */
export type ReproWord =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'file';
      readonly file: ReproFile;
      /** What stands before it in the argument: `--loadEngine=`. */
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
