import { posix } from 'node:path';

import type { ReproWord } from './reproduction.ts';

/** Names for what bench keeps in its caches, in whatever folder the commands are given. */
const ENGINE = 'engine.plan';
const TIMING_CACHE = 'timing.cache';
const VARIANT = 'variant/variant.onnx';

const EXPORT = /^(--export(?:Times|Output|Profile|LayerInfo)=)(.*)$/s;

export interface LocalNames {
  /** The model was made from another one. */
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

/** The command line for the current folder. */
export function localArgv(words: readonly ReproWord[]): string[] {
  return words.map((word) => (word.kind === 'text' ? word.text : word.head + word.name));
}
