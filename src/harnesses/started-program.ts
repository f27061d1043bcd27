import * as z from 'zod';

import { TIMERS } from '../records/harness.ts';
import { type DrivenCell, orAxis } from './driver.ts';

/** How long a run may take, and will take where nobody says it. */
export function limitSettings(defaultEstimateS: number) {
  return {
    timeoutS: orAxis(z.number().min(1)).describe('Limit of one run. Default: 3600').optional(),
    estimateS: orAxis(z.number().min(0)).describe(`What one run takes, about. Default: ${defaultEstimateS}`).optional(),
  };
}

/** A program with its arguments, or arguments alone. */
export const argumentList = z.array(z.union([z.string(), z.number()]));

/** What takes the times, of a harness that may take them either way. */
export const timerSetting = z
  .enum(TIMERS)
  .describe('What takes the times: wall, or cudaEvent. Another timer is another history');

export const warmUpRunsSetting = z
  .number()
  .int()
  .min(0)
  .describe('Runs before the timed ones, where it is known')
  .optional();

/** Settings of every harness that starts one program of the user's own. */
export const processSettings = {
  version: z.string().max(100).describe('Version of the program, for people: stored with each run').optional(),
  cwd: z.string().min(1).describe('Where it is started. Default: the folder of this file').optional(),
  env: z
    .record(z.string().regex(/^[A-Za-z_]\w*$/), z.union([z.string(), z.number(), z.null()]))
    .describe('Variables for it, on top of those that bench was started with; null takes one away')
    .optional(),
};

/** The program and its arguments. A name alone is looked up in PATH; anything with a slash is meant from the folder of the file. */
export function programOf(
  run: readonly (string | number)[],
  resolve: (path: string) => string,
): readonly [string, ...string[]] {
  const [program = '', ...args] = run.map(String);
  return [/[/\\]/.test(program) ? resolve(program) : program, ...args];
}

/** Variables as a process takes them; null takes one away. */
function environmentOf(
  stated: Readonly<Record<string, string | number | null>> | undefined,
): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(stated ?? {}).map(([variable, value]) => [variable, value === null ? null : String(value)]),
  );
}

/** How long a run may take and will take, about; of axes only the values are left here. */
export function limitsOf(
  stated: { readonly timeoutS?: number | string | undefined; readonly estimateS?: number | string | undefined },
  defaultEstimateS: number,
): Pick<DrivenCell, 'timeoutS' | 'estimateS'> {
  return {
    timeoutS: stated.timeoutS === undefined ? null : Number(stated.timeoutS),
    estimateS: Number(stated.estimateS ?? defaultEstimateS),
  };
}

/** Where a program of the user's own is started, with what, and for how long. */
export function startOf(
  settings: Parameters<typeof limitsOf>[0] & {
    readonly cwd?: string | undefined;
    readonly env?: Parameters<typeof environmentOf>[0];
  },
  resolve: (path: string) => string,
  defaultEstimateS: number,
): Pick<DrivenCell, 'cwd' | 'env' | 'timeoutS' | 'estimateS'> {
  return {
    cwd: resolve(settings.cwd ?? '.'),
    env: environmentOf(settings.env),
    ...limitsOf(settings, defaultEstimateS),
  };
}
