import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings';
import * as z from 'zod';

import { readClockRequest, readCoolDown, readNumaPolicy } from '../machine/requests.ts';
import { parseShapes } from '../records/cell.ts';
import { readConfirmBudget } from '../records/gated-metric.ts';
import { type CustomMetricId, isCustomMetric } from '../records/metric.ts';
import { LONGEST_NOTE, foldedNote } from '../text/printable.ts';
import { readByteSize, readDurationS, readQuantity } from '../text/units.ts';
import { isOneOf } from '../text/unknown-values.ts';
import type { CommonOptions } from './define-command.ts';
import { DEFAULT_FAIL_ON, EARLIER_WORDS, type EarlierWord, FAIL_ON_WORDS, type FailOnWord, orNull } from '../errors.ts';

/** @param read returns null for invalid text */
export function parser<Value>(read: (text: string) => Value | null, problem: string): (text: string) => Value {
  return (text) => {
    const value = read(text);
    if (value === null) throw new InvalidArgumentError(problem);
    return value;
  };
}

export function numberParser(isAllowed: (value: number) => boolean, problem: string): (text: string) => number {
  return parser((text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) && isAllowed(value) ? value : null;
  }, problem);
}

export const positiveInteger = numberParser(
  (value) => Number.isInteger(value) && value >= 1,
  'must be a whole number, 1 or more.',
);

export const wholeNumber = parser((text) => {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : null;
}, 'must be a whole number, 0 or more.');

export const positiveNumber = numberParser((value) => value > 0, 'must be a number above 0.');

function percentUpTo(most: number): (text: string) => number {
  return parser((text) => {
    const value = Number(text.replace(/\s*%$/, ''));
    return value > 0 && value <= most ? value : null;
  }, 'must be a percentage above 0, such as 1 or 0.5.');
}

/** The percentage of a change, which may exceed 100 %. */
export const positivePercent = percentUpTo(Number.MAX_VALUE);

const sharePercent = percentUpTo(100);

/** `10%` of a sweep, or a time such as `20m`. */
export const confirmBudget = parser(
  readConfirmBudget,
  'must be a share of the sweep such as 10%, or a time such as 20m.',
);

/** `90s`, `30m`, `1.5h`: in seconds. */
export const duration = parser(readDurationS, 'must be a time such as 90s, 30m or 2h.');

const AGE_UNITS = new Map(Object.entries({ h: 3600, d: 86_400, w: 7 * 86_400, y: 365 * 86_400 }));

/** `36h`, `90d`, `12w`, `1y`: in seconds. */
export const age = parser(
  (text) => readQuantity(text, AGE_UNITS) || null,
  'must be an age such as 36h, 90d, 12w or 1y.',
);

/** `20GB`, `512MiB`, `1.5T`: in bytes. */
export const byteSize = parser(readByteSize, 'must be a size such as 20GB or 512MiB.');

export const clockRequest = parser(readClockRequest, 'must be base, max or a frequency in MHz, such as 1590.');

export const coolDownRequest = parser(readCoolDown, 'must be a time such as 10s, or a temperature such as 45C.');

const numaPolicy = parser(readNumaPolicy, 'must be auto, off, the number of a node, or CPUs such as cpus:0-15.');

export const statedShapes = parser(parseShapes, 'must be shapes such as input:8x3x224x224, separated by commas.');

const FILTER_HELP =
  "only these cells: words as tables print them ('vit_small fp8 b8'), FIELD = != < <= > >= VALUE, joined with & | ! ( )";

/** Filters cells of a matrix, including those not measured yet. */
export function matrixFilterOption() {
  return new Option('--filter <expression>', FILTER_HELP);
}

/** Filters cells of the store. */
export function filterOption() {
  return new Option(
    '--filter <cells>',
    `${FILTER_HELP}; also by their newest runs: bound=host, flag=contended, hint=h2d_bound (a warning of trtexec), gpuBusy<0.9`,
  );
}

/** Rejects an empty value, which an unset CI variable produces. */
export const notEmpty = parser((text) => (text.trim() === '' ? null : text), 'It is empty: is its shell variable set?');

export function branchOption(says = 'only sweeps of this branch (default: checked out, or of the CI job)') {
  return new Option('--branch <name>', says).argParser(notEmpty);
}

export function failOnOption() {
  return new Option('--fail-on <list>', `what makes a nonzero exit code: ${FAIL_ON_WORDS.join(', ')}`)
    .default(DEFAULT_FAIL_ON, DEFAULT_FAIL_ON.join(','))
    .argParser((text): (FailOnWord | EarlierWord)[] => {
      const known = listOf(FAIL_ON_WORDS);
      return commaList(text).flatMap((word) => (isOneOf(EARLIER_WORDS, word) ? [word] : known(word)));
    });
}

export function minChangeOption() {
  return new Option(
    '--min-change <percent>',
    'report no smaller changes, such as 2% (default: as the matrix says)',
  ).argParser(positivePercent);
}

const argvSchema = z.array(z.string().min(1)).min(1).max(100);

/** A program, or a JSON list of a program and its arguments: `["mail", "ops@example.org"]`. */
export const notifyCommand = parser((text): readonly string[] | null => {
  if (!text.trimStart().startsWith('[')) return text.trim() === '' ? null : [text];
  return orNull(() => argvSchema.parse(JSON.parse(text)));
}, 'must be a program, or a JSON list such as ["mail", "ops@example.org"].');

/** `bench help metrics` lists the names. Metrics of other harnesses come from the store. */
export function metricOption(says = 'the metric to compare') {
  return new Option(
    '--metric <name>',
    `${says}: gpu, latency, p99, throughput, … (bench help metrics; default: gpu, or the first metric of another harness)`,
  );
}

/** Null when the name does not say its unit. */
export function customMetricOf(text: string): CustomMetricId | null {
  const unit = /^[A-Za-z][\w.-]*(?<!per)_(ms|us|ns|s)$/.exec(text)?.[1];
  const id = unit === undefined ? text : `${text}:lower:${unit}`;
  return isCustomMetric(id) ? id : null;
}

export const noteText = parser((text) => {
  const line = foldedNote(text);
  return line !== '' && line.length <= LONGEST_NOTE ? line : null;
}, `A note has 1 to ${LONGEST_NOTE} characters.`);

export function listOf<const Word extends string>(allowed: readonly Word[]): (text: string) => Word[] {
  return (text) =>
    commaList(text).map((word) => {
      if (isOneOf(allowed, word)) return word;
      throw new InvalidArgumentError(`"${word}" is not one of ${allowed.join(', ')}.`);
    });
}

export function precisionShareOption() {
  return new Option(
    '--precision-share <percent>',
    'minimum share of time in fp8 to count as fp8 (default: 50)',
  ).argParser((text) => sharePercent(text) / 100);
}

/** Returns `--max-runs` for `maxRuns`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export const PYTHON_HELP = 'the Python with ModelOpt that makes variants (default: $BENCH_PYTHON, python3)';

export function collected(text: string, before: string[] = []): string[] {
  return [...before, text];
}

export function commaList(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

export function planOptions<Arguments extends unknown[]>(planning: Command<Arguments, CommonOptions>) {
  return planning
    .addOption(matrixFilterOption())
    .option('--repeats <n>', 'runs of each cell', positiveInteger)
    .option('--builds <n>', 'build each engine N times, and run each build --repeats times', positiveInteger)
    .option('--seed <n>', 'seed of the order of runs (default: a new one for each sweep)', positiveInteger)
    .option('--profile', 'also profile each cell once')
    .option('--numa <node>', 'bind runs: auto (NUMA node of their GPU), off, 1, cpus:0-15', numaPolicy)
    .option('--untrusted', 'refuse a matrix that names programs or libraries to start or load')
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder');
}

export function settingOptions<A extends unknown[], O extends OptionValues>(submitting: Command<A, O>) {
  return submitting
    .option('--slurm-profile <file>', 'a YAML file with the keys of slurm: in a matrix')
    .option('--slurm <key=value>', 'one of these settings, such as partition=gpu; repeatable', collected);
}

function every<Flags extends string>(flags: Flags, about: string, seconds: number, shown: string) {
  return new Option(flags, about).argParser(duration).default(seconds, shown);
}

export function watchOptions<A extends unknown[], O extends OptionValues>(watching: Command<A, O>) {
  return watching
    .addOption(every('--poll <time>', 'how often to poll Slurm', 30, '30s'))
    .addOption(every('--max-pending <time>', 'report shards that are pending for longer', 86_400, '24h'))
    .addOption(
      every('--lost-after <time>', 'treat a shard as lost if Slurm has not reported it for this long', 120, '2m'),
    )
    .addOption(every('--late-files <time>', 'how long to wait for files of finished jobs', 75, '75s'));
}

const OF_SHELL = /(?<=^|\s)(?:&&|\|\||[|;&<>]|>>|2>&1|[^\s;]+;)(?=\s|$)/;

/** A program and its arguments, run without a shell. Blanks separate words, except between '…' or "…". */
export function commandLine(text: string): readonly string[] {
  const unquoted = text.replaceAll(/'[^']*'|"[^"]*"/g, '_');
  const [forShell] = OF_SHELL.exec(unquoted) ?? [];
  const hint = `runs without a shell, which "${forShell}" is for: put it into a script, or sh -c '...'`;
  if (unquoted.trim() === '') throw new InvalidArgumentError('It is empty.');
  if (/['"\\]/.test(unquoted)) {
    throw new InvalidArgumentError('It has a quote that is not closed, or a backslash: use quotes instead.');
  }
  if (forShell !== undefined) throw new InvalidArgumentError(`It ${hint}.`);
  const words = text.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}
