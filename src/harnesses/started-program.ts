import * as z from 'zod';

import { TIMERS } from '../records/harness.ts';
import { type DrivenCell, type DriverPlan, orAxis } from './driver.ts';

/** A text that is not empty. */
export function textSetting(description: string) {
  return z.string().min(1).describe(description);
}

export function countSetting(least: number, description: string) {
  return orAxis(z.number().int().min(least)).describe(description);
}

export function limitSettings(defaultEstimateS: number) {
  return {
    timeoutS: orAxis(z.number().min(1)).describe('Limit of one run. Default: 3600').optional(),
    estimateS: orAxis(z.number().min(0)).describe(`What one run takes, about. Default: ${defaultEstimateS}`).optional(),
  };
}

export const argumentList = z.array(z.union([z.string(), z.number()]));

export function runSetting(description: string) {
  return argumentList.min(1).describe(description);
}

export const timerSetting = z
  .enum(TIMERS)
  .describe('What takes the times: wall, or cudaEvent. Another timer is another history');

export const warmUpRunsSetting = z
  .number()
  .int()
  .min(0)
  .describe('Runs before the timed ones, where it is known')
  .optional();

export function programSettings(defaultEstimateS: number) {
  return {
    version: z.string().max(100).describe('Version of the program, for people: stored with each run').optional(),
    cwd: textSetting('Where it is started. Default: the folder of this file').optional(),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/), z.union([z.string(), z.number(), z.null()]))
      .describe('Variables for it, on top of those that bench was started with; null takes one away')
      .optional(),
    ...limitSettings(defaultEstimateS),
  };
}

/** A bare name is looked up in PATH; a path is relative to the folder of the file. */
export function programOf(
  run: readonly (string | number)[],
  resolve: (path: string) => string,
): readonly [string, ...string[]] {
  const [program = '', ...args] = run.map(String);
  return [/[/\\]/.test(program) ? resolve(program) : program, ...args];
}

export function option(flag: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [flag, String(value)];
}

export function limitsOf(
  stated: { readonly timeoutS?: number | string | undefined; readonly estimateS?: number | string | undefined },
  defaultEstimateS: number,
): Pick<DrivenCell, 'timeoutS' | 'estimateS'> {
  return {
    timeoutS: stated.timeoutS === undefined ? null : Number(stated.timeoutS),
    estimateS: Number(stated.estimateS ?? defaultEstimateS),
  };
}

/** The cell of a program of the user's own: what is started, where, with what, and for how long. */
export function plannedProgram(
  settings: Parameters<typeof limitsOf>[0] & {
    readonly cwd?: string | undefined;
    readonly env?: Readonly<Record<string, string | number | null>> | undefined;
  },
  resolve: (path: string) => string,
  defaultEstimateS: number,
  cell: Pick<DrivenCell, 'harness' | 'resultFiles'> & {
    readonly run: readonly (string | number)[];
    readonly identity?: DrivenCell['identity'];
  },
): DriverPlan {
  const { harness, identity = {}, resultFiles, run } = cell;
  const env = Object.entries(settings.env ?? {}).map(([name, value]) => [name, value === null ? null : String(value)]);
  return {
    kind: 'planned',
    cell: {
      harness,
      identity,
      argv: programOf(run, resolve),
      resultFiles,
      cwd: resolve(settings.cwd ?? '.'),
      env: Object.fromEntries(env),
      ...limitsOf(settings, defaultEstimateS),
    },
  };
}
