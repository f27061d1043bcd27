import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';

import type { HarnessResult, HarnessValue, Method, TimeStatistics } from '../records/harness.ts';
import { type MetricId, metricOf } from '../records/metric.ts';
import { isRecord } from '../text/unknown-values.ts';
import { defineDriver, faulty, NONE_STATED, wrong } from './driver.ts';
import type { DrivenCell, Driver, DriverPlace, DriverPlan, HarnessFiles, StandaloneReport } from './driver.ts';
import * as setting from './settings.ts';

export function option(flag: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [flag, String(value)];
}

interface Run {
  readonly run: readonly (string | number)[];
}

/** The plan of a user's program: command line, folder, environment and time limits. */
export function plannedProgram(
  settings: Pick<CommonSettings, 'cwd' | 'env' | 'timeoutS' | 'estimateS'>,
  resolve: (path: string) => string,
  defaultEstimateS: number,
  { run, ...cell }: Pick<DrivenCell, 'harness' | 'resultFiles'> & Partial<Pick<DrivenCell, 'identity'>> & Run,
) {
  const { cwd = '.', estimateS = defaultEstimateS, timeoutS } = settings;
  const env = Object.entries(settings.env ?? {}).map(([name, value]) => [name, value === null ? null : String(value)]);
  const [program = '', ...args] = run.map(String);
  return {
    kind: 'planned',
    cell: {
      identity: {},
      ...cell,
      // A bare name is looked up in PATH; a path is relative to the folder of the file.
      argv: [/[/\\]/.test(program) ? resolve(program) : program, ...args],
      cwd: resolve(cwd),
      env: Object.fromEntries(env),
      timeoutS: timeoutS === undefined ? null : Number(timeoutS),
      estimateS: Number(estimateS),
    },
  } as const satisfies DriverPlan;
}

/** One report in a file: its numbers or its problem in one line, and what it states about its cell. */
export interface FoundReport extends Partial<Pick<Method, 'harnessVersion' | 'inFlight' | 'warmUpRuns' | 'timedRuns'>> {
  readonly problem?: string;
  readonly latencyMs?: TimeStatistics;
  readonly values?: readonly HarnessValue[];
  /** The metric of its cell; default: that of the harness. */
  readonly metric?: MetricId;
  readonly stated?: Partial<Omit<StandaloneReport, 'harness' | 'result'>>;
}

interface HarnessRow<Shape extends z.ZodRawShape>
  extends Pick<Driver, 'kind'>, Partial<Pick<Driver, 'needs'>>, Pick<Method, 'timer' | 'percentileRule'> {
  readonly about: string;
  readonly settings: Shape;
  readonly defaultEstimateS: number;
  readonly inFlight?: number;
  readonly transfers?: boolean;
  /** The metric by which a cell is judged. Default: the median latency. */
  readonly metric?: MetricId;
  /** Files whose content is part of the cell: setting and path. */
  readonly hashed?: (settings: setting.SettingsOf<Shape>) => readonly (readonly [string, string | undefined])[];
  /** Setting and problem of a value that the program would refuse, or accept and ignore. */
  readonly refused?: (settings: setting.SettingsOf<Shape>) => readonly [string, string] | null;
  /** @param place includes the hashes of the files by setting */
  readonly started: (
    settings: setting.SettingsOf<Shape>,
    place: Pick<DriverPlace, 'model' | 'resolve'> & { readonly hashes: Readonly<Record<string, string | undefined>> },
  ) => Run & {
    /** Settings that are part of the cell; unset ones are omitted. */
    readonly identity?: Readonly<Record<string, string | number | undefined>>;
    readonly metric?: MetricId;
    readonly gpus?: number;
  };
  /** File in the run folder that holds the numbers. */
  readonly report: string;
  /** Advice for a missing report. */
  readonly advice?: string;
  /**
   * @param stderr what the process of the report logged
   * @returns null if the text is not such a report, or not all of it
   */
  readonly found: (text: string, isStandalone: boolean, stderr: string) => readonly FoundReport[] | null;
  /** Names of the values without which a run is invalid. */
  readonly expected?: (settings: setting.SettingsOf<Shape>) => readonly string[];
  /** Facts about the method from the settings. */
  readonly stated?: (settings: setting.SettingsOf<Shape>) => Pick<CommonSettings, 'inFlight' | 'warmUpRuns'>;
  /** True if a run may print reports of warm-ups, so that its last report counts. */
  readonly hasWarmUps?: boolean;
  /** Pattern that the first MiB of each report matches; without one, `bench import` accepts no reports. */
  readonly mark?: RegExp;
}

const commonSettings = z
  .object({
    ...setting.program(0),
    timer: setting.timer,
    transfers: z.boolean(),
    warmUpRuns: z.number(),
    inFlight: z.number(),
    /** Further arguments, which are part of the cell. */
    extraArgs: z.array(z.string()),
  })
  .partial();

type CommonSettings = z.infer<typeof commonSettings>;

/** Defines a harness that leaves a report: how to start it, and where its numbers are. */
export function defineHarness<Shape extends z.ZodRawShape>(row: HarnessRow<Shape>): Driver {
  const { advice, kind, metric: usual = 'latencyMs', report: name } = row;
  const resultOf = (found: FoundReport, stated: CommonSettings): HarnessResult =>
    found.problem === undefined
      ? {
          kind: 'read',
          reading: {
            method: {
              harness: kind,
              harnessVersion: stated.version ?? found.harnessVersion ?? null,
              timer: stated.timer ?? row.timer,
              inFlight: stated.inFlight ?? found.inFlight ?? row.inFlight ?? null,
              percentileRule: row.percentileRule,
              transfers: stated.transfers ?? row.transfers ?? null,
              warmUpRuns: stated.warmUpRuns ?? found.warmUpRuns ?? null,
              timedRuns: found.timedRuns ?? null,
            },
            latencyMs: found.latencyMs ?? null,
            values: found.values ?? [],
          },
        }
      : faulty(found.problem);
  const readReport = ({ text: textOf }: HarnessFiles, settings: setting.SettingsOf<Shape>): HarnessResult => {
    const text = textOf(name);
    const none = text === null ? 'the process did not write it' : `not a complete report of ${kind}`;
    const found = (text === null ? null : row.found(text, false, textOf('stderr.log') ?? '')) ?? [];
    const one = row.hasWarmUps === true ? found.at(-1) : found[0];
    if (one === undefined) return faulty(`${name}: ${none}${advice === undefined ? '' : `: ${advice}`}`);
    if (found.length > 1 && row.hasWarmUps !== true) return faulty(`${name}: ${found.length} results instead of one`);
    const names = one.values?.map(({ metric }) => metricOf(metric).label) ?? [];
    const missing = row.expected?.(settings).find((each) => !names.includes(each));
    if (one.problem === undefined && missing !== undefined) {
      return faulty(`${name}: no ${missing} (it has ${names.slice(0, 5).join(', ') || 'none'})`);
    }
    const result = resultOf(one, { ...commonSettings.parse(settings), ...row.stated?.(settings) });
    return result.kind === 'faulty' ? faulty(`${name}: ${result.problem}`) : result;
  };
  return defineDriver({
    kind,
    settings: z.strictObject({ kind: z.literal(kind), ...row.settings }).describe(row.about),
    mark: row.mark ?? null,
    needs: row.needs ?? [],
    files: (settings) => row.hashed?.(settings).flatMap(([, file]) => file ?? []) ?? [],
    plan: (settings, { model, resolve, sha256Of }): DriverPlan => {
      const [refused, problem] = row.refused?.(settings) ?? [];
      if (refused !== undefined && problem !== undefined) return wrong([refused], problem);
      const common = commonSettings.parse(settings);
      const { extraArgs = [], timer = row.timer } = common;
      const hashes: Record<string, string> = {};
      for (const [at, file] of row.hashed?.(settings) ?? []) {
        if (file === undefined) continue;
        const sha256 = sha256Of(resolve(file));
        if (sha256 === null) return wrong([at], `${file}: file not found or not readable`);
        hashes[at] = sha256.slice(0, HASH_DIGITS);
      }
      const { gpus = 1, identity = {}, metric = usual, run } = row.started(settings, { model, resolve, hashes });
      const planned = plannedProgram(common, resolve, row.defaultEstimateS, {
        harness: { name: kind, timer, metric },
        identity: { ...statedIdentity(identity), ...identityOfArgs(extraArgs) },
        run,
        resultFiles: name === 'stdout.log' ? [] : [name],
      });
      const cwd = 'cwd' in row.settings ? planned.cell.cwd : null;
      return { ...planned, cell: { ...planned.cell, cwd, ...(gpus === 1 ? {} : { gpus }) } };
    },
    read: (settings, files) => readReport(files, settings),
    reports: (text) => {
      const found = row.mark === undefined ? [] : (row.found(text, true, '') ?? []);
      return found.map((one) => ({
        ...NONE_STATED,
        ...one.stated,
        harness: { name: kind, timer: row.timer, metric: one.metric ?? usual },
        result: resultOf(one, {}),
      }));
    },
  });
}

/** This many digits of a hash distinguish the files of a project. */
const HASH_DIGITS = 12;

/** Undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

class ReportFault extends Error {}

export type JsonReport = ReturnType<typeof jsonReport>;

/** A JSON report, read by paths such as `request_latency.avg` or `phases.0.name`. */
function jsonReport(value: unknown) {
  const at = (path: string): unknown =>
    path.split('.').reduce<unknown>((inner, step) => {
      if (Array.isArray(inner)) return inner[Number(step)];
      return isRecord(inner) ? inner[step] : undefined;
    }, value);
  const typed =
    <Value>(schema: z.ZodType<Value>, kind: string) =>
    (path: string): Value => {
      const { data, success } = schema.safeParse(at(path));
      if (success) return data;
      throw new ReportFault(at(path) === undefined ? `field ${path} is missing` : `${path} is not a ${kind}`);
    };
  return { at, number: typed(z.number(), 'number'), text: typed(z.string(), 'text') };
}

/**
 * Returns a function that reads the reports of a JSON file.
 * @param hint question for a wrong form: `is it a report of …?`
 * @param isOwn recognizes a standalone file as such a report, whose problems are then reported
 */
export function inJson(hint: string, isOwn: RegExp | null, reportsIn: (report: JsonReport) => readonly FoundReport[]) {
  return (text: string, isStandalone: boolean): readonly FoundReport[] | null => {
    if (isStandalone && isOwn?.test(text) !== true) return null;
    const value = parsedJson(text);
    if (value === undefined) return [{ problem: `not complete JSON: ${hint}` }];
    try {
      return reportsIn(jsonReport(value));
    } catch (error) {
      if (!(error instanceof ReportFault)) throw error;
      return [{ problem: `${error.message}: ${hint}` }];
    }
  };
}

/** Reads a part of a report whose form is a list. @throws ReportFault */
export function partOf<Part>({ at }: JsonReport, path: string, schema: z.ZodType<Part>): Part {
  if (at(path) === undefined) throw new ReportFault(`field ${path} is missing`);
  const { data, error, success } = schema.safeParse(at(path));
  if (success) return data;
  const [issue] = error.issues;
  throw new ReportFault(`${toDotPath([path, ...(issue?.path ?? [])])}: ${issue?.message ?? 'invalid'}`);
}

/** Requested settings as parts of a cell; unset ones are omitted. */
export function statedIdentity(requested: Readonly<Record<string, string | number | undefined>>) {
  return Object.fromEntries(
    Object.entries(requested).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

/** Arguments unknown to bench, as parts of a cell: `['--tp', '2', '--quiet']` as `--tp=2` and `--quiet`. */
function identityOfArgs(args: readonly string[]): Record<string, string> {
  const identity: Record<string, string> = {};
  let last: string | null = null;
  for (const arg of args) {
    if (arg.startsWith('-') && !/^-\d/.test(arg)) {
      const [, name = arg, value = ''] = /^([^=]+)=(.*)$/.exec(arg) ?? [];
      identity[name] = value;
      last = name;
    } else if (last !== null) {
      identity[last] = identity[last] === '' ? arg : `${identity[last]} ${arg}`;
    } else {
      identity[arg] = '';
    }
  }
  return identity;
}
