import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';

import type { Shapes } from '../records/cell.ts';
import {
  type CellHarness,
  cellHarnessSchema,
  type HarnessResult,
  type HarnessValue,
  NO_METRIC,
  type TimeStatistics,
} from '../records/harness.ts';
import { type CustomMetricId, type MetricId, customMetric, isMetric } from '../records/metric.ts';
import type { Immutable } from '../records/scalars.ts';
import { isRecord } from '../text/unknown-values.ts';

export interface DriverPlace {
  readonly model: string;
  /** Axes and dimensions of this point by name, such as the batch. */
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Resolves a path against the folder of the file that contains it. */
  readonly resolve: (path: string) => string;
  /** SHA-256 of the content of a file; null if it cannot be read. The path is absolute. */
  readonly sha256Of: (path: string) => string | null;
}

const drivenCellSchema = z.object({
  harness: cellHarnessSchema.extend({ metric: z.string().refine(isMetric, NO_METRIC) }),
  /** Settings that are part of the cell in addition to its axes, such as the hash of a data set. */
  identity: z.record(z.string(), z.string()),
  /** The program and its arguments; `{runFolder}` represents the run folder. */
  argv: z.tuple([z.string()], z.string()),
  /** Null for the run folder. */
  cwd: z.string().nullable(),
  /** Merged into the environment of bench; null removes a variable. */
  env: z.record(z.string(), z.string().nullable()),
  /** Files in the run folder that `read` needs in addition to the output. */
  resultFiles: z.array(z.string()),
  /** Time limit of the process in seconds; null for the default. */
  timeoutS: z.number().nullable(),
  estimateS: z.number(),
  /** Number of GPUs that it uses together. Default: 1. */
  gpus: z.number().int().min(1).exactOptional(),
});

/** One cell of a harness: how to start it, and what belongs to the cell. */
export type DrivenCell = Immutable<z.infer<typeof drivenCellSchema>>;

export const driverPlanSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('planned'), cell: drivenCellSchema }),
  z.object({
    kind: z.literal('wrong'),
    path: z.array(z.union([z.string(), z.number(), z.symbol()])),
    problem: z.string(),
  }),
]);

export type DriverPlan = Immutable<z.infer<typeof driverPlanSchema>>;

/** Output of a process as text: `stdout.log`, `stderr.log` and its result files. */
export interface HarnessFiles {
  readonly text: (name: string) => string | null;
}

export interface StandaloneReport {
  readonly harness: CellHarness;
  readonly result: HarnessResult;
  readonly model: string | null;
  readonly precision: string | null;
  readonly shapes: Shapes | null;
  readonly cudaGraph: boolean | null;
  readonly identity: Readonly<Record<string, string>>;
  readonly startedAt: string | null;
  /** Further notes for people. */
  readonly notes?: readonly string[];
}

/** The cell of a standalone report that states nothing. */
export const NOTHING_STATED = {
  model: null,
  precision: null,
  shapes: null,
  cudaGraph: null,
  identity: {},
  startedAt: null,
} as const satisfies Partial<StandaloneReport>;

export type NeededField = 'precision' | 'shapes' | 'cudaGraph';

/** A harness other than trtexec. Drivers are pure: bench starts the process, and the driver reads its files. */
export interface Driver {
  /** NAME in `harness: {kind: NAME}` of the matrix. */
  readonly kind: string;
  /** Settings in addition to `kind`. Texts may name axes: `"{batch}"`. */
  readonly settings: z.ZodObject;
  /** Paths of files that are hashed before `plan` is called. */
  readonly files: (settings: unknown) => readonly string[];
  /** @param settings with the axes filled in */
  readonly plan: (settings: unknown, place: DriverPlace) => DriverPlan;
  readonly read: (settings: unknown, files: HarnessFiles) => HarnessResult;
  /** Metrics in addition to latencies; null if only the reports tell. */
  readonly metrics: (settings: unknown) => readonly MetricId[] | null;
  /** For `bench import`: the reports in a file, if any. `metric` and `pattern` are the stated ones, if any. */
  readonly reports: (
    text: string,
    fileName: string,
    metric?: CustomMetricId | null,
    pattern?: string | null,
  ) => readonly StandaloneReport[];
  /**
   * Pattern that the first MiB of each report matches, so that other files are not read whole. Null if there is none.
   */
  readonly mark: RegExp | null;
  /** Fields that the user must state if a standalone report lacks them; the model is always one. */
  readonly needs: readonly NeededField[];
}

interface DriverParts<Settings extends z.ZodObject>
  extends Pick<Driver, 'kind'>, Partial<Pick<Driver, 'reports' | 'mark' | 'needs'>> {
  readonly settings: Settings;
  readonly files?: (settings: z.infer<Settings>) => readonly string[];
  readonly plan: (settings: z.infer<Settings>, place: DriverPlace) => DriverPlan;
  readonly read: (settings: z.infer<Settings>, files: HarnessFiles) => HarnessResult;
  readonly metrics?: (settings: z.infer<Settings>) => readonly MetricId[];
}

export function defineDriver<Settings extends z.ZodObject>(parts: DriverParts<Settings>): Driver {
  const { kind, settings: schema, files, plan, read, metrics } = parts;
  const settingsOf = (stated: unknown) => {
    const { data, error } = schema.safeParse(stated);
    const [issue] = error?.issues ?? [];
    return { data, path: issue?.path ?? [], problem: issue?.message ?? 'invalid' };
  };
  return {
    reports: () => [],
    mark: null,
    needs: [],
    ...parts,
    metrics: (stated) => {
      const { data } = settingsOf(stated);
      return data === undefined ? null : (metrics?.(data) ?? null);
    },
    files: (stated) => {
      const { data } = settingsOf(stated);
      return data === undefined ? [] : (files?.(data) ?? []);
    },
    plan: (stated, place) => {
      const { data, path, problem } = settingsOf(stated);
      return data === undefined ? wrong(path, problem) : plan(data, place);
    },
    read: (stated, left) => {
      const { data, path, problem } = settingsOf(stated);
      return data === undefined ? faulty(`settings of ${kind}: ${toDotPath(path)}: ${problem}`) : read(data, left);
    },
  };
}

export function wrong(path: readonly PropertyKey[], problem: string): DriverPlan {
  return { kind: 'wrong', path, problem };
}

export function faulty(problem: string): Extract<HarnessResult, { readonly kind: 'faulty' }> {
  return { kind: 'faulty', problem };
}

/** A value, or the axis that supplies it: `"{concurrency}"`. Axes are filled in before use. */
export function orAxis<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.string().regex(/^\{[A-Za-z_]\w*\}$/)]);
}

/** Metrics of language model harnesses. One name has the same meaning in all of them. */
export const OUTPUT_THROUGHPUT = customMetric('outputThroughput', 'higher', 'tok/s');
export const REQUEST_THROUGHPUT = customMetric('requestThroughput', 'higher', 'req/s');
export const REQUEST_LATENCY = customMetric('requestLatencyMean', 'lower', 'ms');
export const TTFT = customMetric('ttftMean', 'lower', 'ms');

/** Whether tokens are sent as they are generated. */
export const streamingSetting = orAxis(z.union([z.boolean(), z.enum(['on', 'off'])]));

export function isStreaming({ streaming }: { readonly streaming?: boolean | string | undefined }): boolean {
  return streaming === true || streaming === 'on';
}

/** A JSON report, read by paths such as `request_latency.avg`. */
export interface JsonReport {
  readonly at: (path: string) => unknown;
  /** @throws ReportFault if it is no number */
  readonly number: (path: string) => number;
  /** @throws ReportFault if it is no text */
  readonly text: (path: string) => string;
}

export class ReportFault extends Error {}

export function jsonReport(value: unknown): JsonReport {
  const at = (path: string): unknown =>
    path.split('.').reduce<unknown>((inner, step) => (isRecord(inner) ? inner[step] : undefined), value);
  const fault = (path: string, kind: string): ReportFault =>
    new ReportFault(at(path) === undefined ? `field ${path} is missing` : `${path} is not a ${kind}`);
  const number = (path: string): number => {
    const found = at(path);
    if (typeof found === 'number') return found;
    throw fault(path, 'number');
  };
  const text = (path: string): string => {
    const found = at(path);
    if (typeof found === 'string') return found;
    throw fault(path, 'text');
  };
  return { at, number, text };
}

const PERCENTILES = ['p50', 'p90', 'p95', 'p99'] as const;

/** Where a report has the mean of a time; percentiles are next to it, or under `percentiles`. In milliseconds. */
export type TimePaths = Readonly<Record<'mean' | 'percentiles', string>>;

/**
 * Numbers of a report of requests. Omits those that it lacks.
 * @param times mean and percentiles become separate metrics: `ttftMean`, `ttftP50`, … `ttftP99`
 * @param tokensPerS paths of throughputs
 */
export function llmValues(
  { at, number }: JsonReport,
  requestsPerS: string,
  times: Readonly<Record<string, TimePaths>>,
  tokensPerS: Readonly<Record<string, string>>,
): HarnessValue[] {
  return [
    { metric: REQUEST_THROUGHPUT, value: number(requestsPerS) },
    ...Object.entries(tokensPerS).flatMap(([name, path]) =>
      at(path) === undefined ? [] : [{ metric: customMetric(name, 'higher', 'tok/s'), value: number(path) }],
    ),
    ...Object.entries(times)
      .filter(([, { mean }]) => at(mean) !== undefined)
      .flatMap(([name, { mean, percentiles }]) => {
        const paths = PERCENTILES.map((percent) => [percent.toUpperCase(), `${percentiles}.${percent}`] as const);
        return [['Mean', mean] as const, ...paths].map(([suffix, path]) => ({
          metric: customMetric(`${name}${suffix}`, 'lower', 'ms'),
          value: number(path),
        }));
      }),
  ];
}

/** @param names of the fields of the smallest and the largest time */
export function latencyOf(
  { number }: JsonReport,
  path: string,
  [min, max, mean]: readonly [string, string, string],
): TimeStatistics {
  const field = (name: string): number => number(`${path}.${name}`);
  const percentiles = { '90': field('p90'), '95': field('p95'), '99': field('p99') };
  return { min: field(min), max: field(max), mean: field(mean), median: field('p50'), percentiles };
}
