import * as z from 'zod';

import type { Shapes } from '../records/cell.ts';
import { type CellHarness, cellHarnessSchema, type HarnessResult, NO_METRIC } from '../records/harness.ts';
import { type CustomMetricId, isMetric, type MetricId } from '../records/metric.ts';
import type { Immutable } from '../records/scalars.ts';

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

const propertyKey = z.union([z.string(), z.number(), z.symbol()]);

export const driverPlanSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('planned'), cell: drivenCellSchema }),
  z.object({ kind: z.literal('wrong'), path: z.array(propertyKey), problem: z.string() }),
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
export const NONE_STATED = {
  model: null,
  precision: null,
  shapes: null,
  cudaGraph: null,
  identity: {},
  startedAt: null,
};

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
  const { kind, settings, files, plan, read, metrics } = parts;
  const fromValid = <Result>(stated: unknown, use: ((data: z.infer<Settings>) => Result) | undefined) => {
    const { data } = settings.safeParse(stated);
    return data && use?.(data);
  };
  const checked = <Result>(
    stated: unknown,
    use: (data: z.infer<Settings>) => Result,
    refuse: (path: readonly PropertyKey[], problem: string) => Result,
  ): Result => {
    const { data, error } = settings.safeParse(stated);
    const { path = [], message = 'invalid' } = error?.issues[0] ?? {};
    return data === undefined ? refuse(path, message) : use(data);
  };
  const asFaulty = (path: readonly PropertyKey[], problem: string): HarnessResult =>
    faulty(`settings of ${kind}: ${path.join('.')}: ${problem}`);
  return {
    reports: () => [],
    mark: null,
    needs: [],
    ...parts,
    metrics: (stated) => fromValid(stated, metrics) ?? null,
    files: (stated) => fromValid(stated, files) ?? [],
    plan: (stated, place) => checked(stated, (data) => plan(data, place), wrong),
    read: (stated, left) => checked(stated, (data) => read(data, left), asFaulty),
  };
}

export function wrong(path: readonly PropertyKey[], problem: string): DriverPlan {
  return { kind: 'wrong', path, problem };
}

export function faulty(problem: string): Extract<HarnessResult, { readonly kind: 'faulty' }> {
  return { kind: 'faulty', problem };
}
