import { Script } from 'node:vm';

import * as z from 'zod';

import { errorText } from '../errors.ts';
import type { HarnessResult, HarnessValue } from '../records/harness.ts';
import { customMetric, type CustomMetricId, DIRECTIONS, metricOf } from '../records/metric.ts';
import { median } from '../statistics/order-statistics.ts';
import { isRecord, valueAt } from '../text/unknown-values.ts';
import { parsedJson, plannedProgram } from './define-harness.ts';
import * as setting from './settings.ts';
import { defineDriver, faulty, type HarnessFiles, NONE_STATED, wrong } from './driver.ts';
import type { DriverPlace, DriverPlan } from './driver.ts';
import { expressionOf } from './number-pattern.ts';

const unitText = z.string().regex(/^[^\s:\p{C}]{1,20}$/u);

const numberSetting = z
  .strictObject({
    unit: unitText.describe('Unit of the number, such as ms or tok/s; without a colon or a space'),
    better: z.enum(DIRECTIONS).describe('Which way is better'),
    path: setting.text('Where the number is in the JSON: a.b.c. Default: the name of the metric').optional(),
    pattern: setting.text('For output: text. A regular expression with one group around the number').optional(),
  })
  .describe('A number that the program prints');

const commandSettings = z
  .strictObject({
    kind: z.literal('command'),
    run: setting.run(
      'The program and its arguments; no shell reads them. {batch} is replaced by the value of an axis, {runFolder} by the folder of the run',
    ),
    output: z
      .enum(['json', 'jsonl', 'text'])
      .describe(
        'json: one JSON object, all of the output or its last line; jsonl: one object on each line, whose median counts; text: numbers found by pattern. Default: json, or text where a pattern is given',
      )
      .optional(),
    file: z
      .string()
      .regex(/^[\w.-]+$/)
      .describe(
        'Read this file of the folder of the run instead of standard output. The program finds the folder in $BENCH_RUN_FOLDER',
      )
      .optional(),
    metrics: z
      .record(z.string().regex(/^[A-Za-z][\w.-]{0,59}$/), numberSetting)
      .refine((metrics) => Object.keys(metrics).length > 0, 'name at least one metric')
      .describe('Its metrics, by name. Verdicts use the first one'),
    timer: setting.timer.optional(),
    inFlight: z.number().min(1).describe('Concurrent queries, if known').optional(),
    warmUpRuns: setting.warmUpRuns,
    ...setting.program(10),
  })
  .describe('Any program that prints numbers');

export type CommandSettings = z.infer<typeof commandSettings>;

/** Any program that prints a JSON object, JSON lines, or numbers that a pattern extracts. */
export const commandDriver = defineDriver({
  kind: 'command',
  settings: commandSettings,
  plan,
  read: readCommand,
  metrics: metricsOf,
  reports: (text, _, metric = null, pattern = null) => {
    if (metric === null) return [];
    const harness = { name: 'command', timer: 'unknown', metric } as const;
    return [{ ...NONE_STATED, harness, result: readNumbers(text, metric, pattern) }];
  },
});

function plan(settings: CommandSettings, { resolve }: DriverPlace): DriverPlan {
  const [metric] = metricsOf(settings);
  if (metric === undefined) return wrong(['metrics'], 'name at least one metric');
  const without = outputOf(settings) === 'text' ? 'output: text needs one for each metric' : null;
  for (const [name, { pattern }] of Object.entries(settings.metrics)) {
    const problem = pattern === undefined ? without : patternProblem(pattern);
    if (problem !== null) return wrong(['metrics', name, 'pattern'], problem);
  }
  return plannedProgram(settings, resolve, 10, {
    harness: { name: 'command', timer: settings.timer ?? 'unknown', metric },
    run: settings.run,
    resultFiles: settings.file === undefined ? [] : [settings.file],
  });
}

function outputOf({ metrics, output }: CommandSettings) {
  return output ?? (Object.values(metrics).some(({ pattern }) => pattern !== undefined) ? 'text' : 'json');
}

/** The metrics of a cell; the first one is primary. */
function metricsOf({ metrics }: CommandSettings): CustomMetricId[] {
  return Object.entries(metrics).map(([name, { better, unit }]) => customMetric(name, better, unit));
}

function patternProblem(pattern: string): string | null {
  try {
    const groups = (new RegExp(`${pattern}|`).exec('')?.length ?? 0) - 1;
    return groups === 1 ? null : `one group around the number is needed, this has ${groups}`;
  } catch (error) {
    return errorText(error);
  }
}

type MetricSettings = CommandSettings['metrics'][string];

export function readCommand(settings: CommandSettings, files: HarnessFiles): HarnessResult {
  const name = settings.file ?? 'stdout.log';
  const text = files.text(name);
  if (text === null || text.trim() === '') {
    const shown = settings.file === undefined ? 'standard output' : name;
    return faulty(`${shown} is empty: a number was expected`);
  }
  const output = outputOf(settings);
  const objects = output === 'text' ? [] : objectsIn(text, output === 'jsonl');
  if (typeof objects === 'string') return faulty(`${name}: ${objects}`);
  const values: HarnessValue[] = [];
  for (const [metric, { better, unit, path = metric, pattern }] of Object.entries(settings.metrics)) {
    const found = output === 'text' ? byPattern(text, pattern) : objects.map((object) => at(object, path));
    if (typeof found === 'string') return faulty(`${name}: pattern of ${metric} ${found}`);
    const named = output === 'text' ? metric : path;
    const middle = middleOf(found, named, values.length === 0) ?? `pattern of ${metric} finds no number`;
    if (typeof middle === 'string') return faulty(`${name}: ${middle}`);
    values.push({ metric: customMetric(metric, better, unit), value: middle });
  }
  return resultOf(values, output === 'jsonl' ? objects.length : null, settings);
}

/**
 * The median, or a text for a value that is no number.
 * @param isPrimary whether verdicts, which are ratios, use the metric
 */
function middleOf(found: readonly unknown[], path: string, isPrimary: boolean): number | string | null {
  const isNumber = (value: unknown): value is number => Number.isFinite(value) && (Number(value) > 0 || !isPrimary);
  const bad = found.findIndex((value) => !isNumber(value));
  if (bad === -1) return median(found.filter(isNumber));
  const value = found[bad];
  const where = found.length > 1 ? ` in result ${bad + 1} of ${found.length}` : '';
  if (value === undefined) return `field ${path} is missing${where}`;
  return `${path} is not a number${isPrimary ? ' above 0' : ''}${where}: ${typeof value === 'number' ? value : JSON.stringify(value).slice(0, 60)}`;
}

function resultOf(
  values: HarnessValue[],
  timedRuns: number | null,
  { inFlight, timer = 'unknown', version, warmUpRuns }: Partial<CommandSettings> = {},
): HarnessResult {
  const counts = { inFlight: inFlight ?? null, warmUpRuns: warmUpRuns ?? null, timedRuns };
  const how = { timer, percentileRule: 'unknown', transfers: null } as const;
  const method = { harness: 'command', harnessVersion: version ?? null, ...how, ...counts };
  return { kind: 'read', reading: { method, latencyMs: null, values } };
}

const PATTERN_MS = 5000;
const FIND_ALL = new Script(
  `[...text.matchAll(new RegExp(pattern, 'gm'))].map(([, group = '']) => group.replaceAll(/\\s/g, '')).join('\\n')`,
);

/** The objects of a text: one per line for JSON lines, otherwise the whole text or its last line that is an object. */
function objectsIn(text: string, isLines: boolean): object[] | string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (isLines) {
    const objects = lines.map(parsed);
    const place = objects.indexOf(null);
    return place === -1 ? objects.filter((object) => object !== null) : `line ${place + 1} is not a JSON object`;
  }
  const found = [text, ...lines.toReversed()].map(parsed).find((object) => object !== null) ?? null;
  return found === null ? 'it contains no JSON object' : [found];
}

function parsed(text: string): object | null {
  const value = parsedJson(text);
  return isRecord(value) ? value : null;
}

/** Looks up a field by path; its name may contain dots. */
function at(value: unknown, path: string): unknown {
  return isRecord(value) && Object.hasOwn(value, path) ? value[path] : valueAt(value, path);
}

/** Matches 12,75, whose comma cannot separate thousands. */
const DECIMAL_COMMA = /^[-+]?\d+,(?!\d{3}$)\d+$/;

/**
 * The numbers that a pattern finds. Aborts a user's pattern that backtracks without end.
 * @returns a text if something is wrong
 */
function byPattern(text: string, pattern: MetricSettings['pattern']): number[] | string {
  if (pattern === undefined) return [];
  let groups: string[];
  try {
    const found: unknown = FIND_ALL.runInNewContext({ text, pattern }, { timeout: PATTERN_MS });
    groups = String(found).split('\n');
  } catch {
    return `was not done after ${PATTERN_MS / 1000} s: write a simpler one`;
  }
  const unclear = groups.find((group) => DECIMAL_COMMA.test(group));
  if (unclear !== undefined) return `finds ${unclear}, which is not a number: a decimal point is needed`;
  return groups.flatMap((group) => {
    const number = Number(group.replaceAll(/[_,]/g, ''));
    return group === '' || Number.isNaN(number) ? [] : [number];
  });
}

/**
 * Reads measured numbers from a file: one per line, the field of the metric in JSON or JSON lines, or the matches of a
 * pattern. Their median counts.
 * @param pattern such as `latency: {ms} ms`
 */
function readNumbers(text: string, metric: CustomMetricId, pattern: string | null): HarnessResult {
  const { betterIs, label, unit } = metricOf(metric);
  if (pattern === null && /^\s*\{/.test(text)) {
    const output = parsed(text) === null ? 'jsonl' : 'json';
    const metrics = { [label]: { unit, better: betterIs } };
    const result = readCommand({ kind: 'command', run: ['-'], output, metrics }, { text: () => text });
    return result.kind === 'read' ? result : faulty(result.problem.replace(/^stdout\.log: /, ''));
  }
  const numbers = pattern === null ? lineNumbers(text, label) : byPattern(text, expressionOf(pattern));
  if (typeof numbers === 'string') return faulty(pattern === null ? numbers : `"${pattern}" ${numbers}`);
  const none = pattern === null ? 'it contains no number' : `no line contains "${pattern}"`;
  const value = middleOf(numbers, label, true) ?? none;
  if (typeof value === 'string') return faulty(value);
  return resultOf([{ metric, value }], numbers.length);
}

/** @returns a text for a line that is no number */
function lineNumbers(text: string, label: string): number[] | string {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/#.*/, '').trim().replace(/,$/, ''));
  const numbers: string[] = [];
  for (const [place, line] of lines.entries()) {
    // The first line may be the header of a column.
    if (line === '' || (numbers.length === 0 && line.replaceAll('"', '') === label)) continue;
    if (!(Number(line) > 0 && Number(line) < Infinity)) {
      return `line ${place + 1}: ${label} is not a number above 0: ${JSON.stringify(line).slice(0, 60)}`;
    }
    numbers.push(line);
  }
  return numbers.map(Number);
}
