/**
 * Types of plug-ins for `trtbench` (docs/how-to/harnesses.md). Import types alone: a plug-in is called with what it needs, so
 * that it runs where it can resolve no package.
 */
import type * as zod from 'zod';

/** The default export of a module under `drivers:` of a matrix. */
export type DriverPlugIn = (bench: PlugInApi) => Driver;

/** The default export of a module under `reporters:` of a matrix; `bench report --reporter NAME` prints its text. */
export type ReporterPlugIn = (bench: PlugInApi) => Reporter;

/** The default export of `gate.notify.module`, called with what `bench check --json` prints, within 30 s. */
export type NotifyPlugIn = (check: Checked) => void | Promise<void>;

export interface PlugInApi {
  readonly z: typeof zod.z;
  /** @param name letters, digits and `_.-`. @param unit such as `ms`, without spaces and colons */
  readonly customMetric: (name: string, betterIs: 'lower' | 'higher', unit: string) => CustomMetric;
  readonly defineDriver: <Settings extends zod.ZodObject>(parts: DriverParts<Settings>) => Driver;
  /** What `read` gives for a report that is not what it should be. */
  readonly faulty: (problem: string) => Extract<HarnessResult, { readonly kind: 'faulty' }>;
  /** What `plan` gives for settings that are wrong. @param path of the setting */
  readonly wrong: (path: readonly PropertyKey[], problem: string) => DriverPlan;
  /** A setting that may name an axis, as `"{batch}"`; `plan` and `read` get its value. */
  readonly orAxis: <Schema extends zod.ZodType>(setting: Schema) => zod.ZodUnion<[Schema, zod.ZodString]>;
  /** Settings of a program that is started: `version`, `cwd`, `env`, `timeoutS`, `estimateS`. */
  readonly programSettings: (defaultEstimateS: number) => {
    readonly version: zod.ZodOptional<zod.ZodString>;
    readonly cwd: zod.ZodOptional<zod.ZodString>;
    readonly env: zod.ZodOptional<
      zod.ZodRecord<zod.ZodString, zod.ZodUnion<[zod.ZodString, zod.ZodNumber, zod.ZodNull]>>
    >;
    readonly timeoutS: zod.ZodOptional<zod.ZodUnion<[zod.ZodNumber, zod.ZodString]>>;
    readonly estimateS: zod.ZodOptional<zod.ZodUnion<[zod.ZodNumber, zod.ZodString]>>;
  };
  /** The plan of a cell that starts a program, with the settings above. A program with a slash is beside the matrix. */
  readonly plannedProgram: (
    settings: {
      readonly cwd?: string | undefined;
      readonly env?: Readonly<Record<string, string | number | null>> | undefined;
      readonly timeoutS?: number | string | undefined;
      readonly estimateS?: number | string | undefined;
    },
    resolve: DriverPlace['resolve'],
    defaultEstimateS: number,
    cell: {
      readonly harness: CellHarness;
      /** `{runFolder}` in an argument is the folder of the run. */
      readonly run: readonly (string | number)[];
      readonly resultFiles: readonly string[];
      readonly identity?: Readonly<Record<string, string>>;
    },
  ) => DriverPlan;
}

export interface DriverParts<Settings extends zod.ZodObject> {
  /** `harness: {kind: NAME}` in the matrix. */
  readonly kind: string;
  /** What is next to `kind`. */
  readonly settings: Settings;
  /** Paths of files whose SHA-256 `plan` needs. */
  readonly files?: (settings: zod.infer<Settings>) => readonly string[];
  readonly plan: (settings: zod.infer<Settings>, place: DriverPlace) => DriverPlan;
  /** @param files of the ended process: `stdout.log`, `stderr.log` and its result files */
  readonly read: (
    settings: zod.infer<Settings>,
    files: { readonly text: (name: string) => string | null },
  ) => HarnessResult;
  /** What it will measure, the metric of the cell first. */
  readonly metrics?: (settings: zod.infer<Settings>) => readonly CustomMetric[];
}

/** Made by `defineDriver`. */
export interface Driver {
  readonly kind: string;
}

export type CustomMetric = `${string}:lower:${string}` | `${string}:higher:${string}`;

/** The part of how it is measured that belongs to a cell: another one starts another history. */
export interface CellHarness {
  readonly name: string;
  readonly timer: 'wall' | 'cudaEvent' | 'unknown';
  /** That the cell is judged by. */
  readonly metric: CustomMetric | 'latencyMs' | 'throughputQps';
}

export interface DriverPlace {
  readonly model: string;
  /** Axes of this cell that the settings name. */
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Resolves a path against the folder of the matrix. */
  readonly resolve: (path: string) => string;
  /** Of a file that `files` names, by its absolute path; null if it cannot be read. */
  readonly sha256Of: (path: string) => string | null;
}

export type DriverPlan =
  | { readonly kind: 'planned'; readonly cell: object }
  | { readonly kind: 'wrong'; readonly path: readonly PropertyKey[]; readonly problem: string };

export type HarnessResult =
  | { readonly kind: 'read'; readonly reading: HarnessReading }
  | { readonly kind: 'faulty'; readonly problem: string };

export interface HarnessReading {
  /** Null for what is not known. */
  readonly method: {
    readonly harness: string;
    readonly harnessVersion: string | null;
    readonly timer: CellHarness['timer'];
    readonly inFlight: number | null;
    readonly percentileRule: 'orderStatistic' | 'linear' | 'unknown';
    readonly transfers: boolean | null;
    readonly warmUpRuns: number | null;
    readonly timedRuns: number | null;
  };
  /** Of one query, the whole batch. */
  readonly latencyMs: {
    readonly min: number;
    readonly max: number;
    readonly mean: number | null;
    readonly median: number;
    readonly percentiles: Readonly<Record<string, number>>;
  } | null;
  readonly values: readonly { readonly metric: CustomMetric; readonly value: number }[];
}

export interface Reporter {
  readonly name: string;
  readonly render: (report: ReportedSweep) => string | Promise<string>;
}

/** What a reporter may rely on. Names come from models and hosts: escape them. */
export interface ReportedSweep {
  /** Newest first. */
  readonly sweeps: readonly {
    readonly sweepId: string;
    readonly matrix: string | null;
    readonly provenance: 'measured' | 'recorded' | 'simulated' | 'imported';
    readonly startedAt: string | null;
    readonly commit: string | null;
    readonly branch: string | null;
    readonly tensorrt: string | null;
    readonly host: string | null;
  }[];
  readonly ref: string;
  /** Null where no two sides are compared. */
  readonly baseRef: string | null;
  readonly notes: readonly string[];
  /** What the gate says; null where two sides were named. */
  readonly gate: {
    readonly headline: string;
    /** Those that make an exit code; `state` is `new` or `open`. */
    readonly findings: readonly { readonly id: string; readonly state: string; readonly text: string }[];
  } | null;
  readonly cells: readonly {
    readonly name: string;
    readonly metric: string;
    readonly owner: string | null;
    readonly cell: { readonly key: string; readonly model: string; readonly precision: string };
    readonly runs: readonly {
      readonly outcome: { readonly kind: 'measured' | 'unfit' | 'failed' | 'built' };
      readonly values: Readonly<Record<string, number | null | undefined>>;
    }[];
    readonly judgement:
      | { readonly kind: 'values' }
      | {
          readonly kind: 'compared' | 'judged';
          readonly verdict: string;
          readonly changePercent: number | null;
          readonly reasons: readonly string[];
        };
    /** Values of the last sweeps, oldest first. */
    readonly recent: readonly number[];
  }[];
}

/** What a notify target may rely on; `bench schema check` describes all of it. */
export interface Checked {
  readonly exitCode: number;
  readonly series: readonly {
    readonly matrix: string | null;
    readonly branch: string | null;
    readonly verdict: string;
    readonly headline: string;
  }[];
  readonly findings: readonly {
    readonly id: string;
    readonly state: string;
    readonly direction: string;
    readonly isWarning: boolean;
    readonly matrix: string | null;
    readonly labels: readonly string[];
    readonly owner: string | null;
    readonly cause: string | null;
    readonly metrics: readonly { readonly metric: string; readonly changePercent: number }[];
  }[];
}
