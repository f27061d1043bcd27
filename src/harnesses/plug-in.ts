import * as z from 'zod';

import { errorText } from '../errors.ts';
import { harnessResultSchema, NO_METRIC } from '../records/harness.ts';
import { customMetric, isMetric } from '../records/metric.ts';
import { isRecord } from '../text/unknown-values.ts';
import { defineDriver, type Driver, driverPlanSchema, faulty, wrong } from './driver.ts';
import { plannedProgram } from './define-harness.ts';
import { orAxis, program as programSettings } from './settings.ts';

/**
 * The API that a plug-in is called with, so that it needs no installed package. Only its types come from `trtbench`.
 */
export const API = { z, customMetric, defineDriver, faulty, orAxis, plannedProgram, programSettings, wrong } as const;

const texts = z.array(z.string());
const metricList = z.array(z.string().refine(isMetric, NO_METRIC)).nullable();

const driverShape = z.custom<Driver>(
  (made) =>
    isRecord(made) &&
    typeof made['kind'] === 'string' &&
    made['settings'] instanceof z.ZodObject &&
    ['files', 'plan', 'read', 'metrics', 'reports'].every((name) => typeof made[name] === 'function'),
);

/**
 * The driver that a plug-in makes. If it fails later, that is a problem of its cell or run.
 * @throws Error if it is not a valid driver
 */
export function outsideDriver(exported: unknown): Driver {
  const { data: driver, success } = driverShape.safeParse(calledWithApi(exported));
  if (!success) throw new Error('makes no driver: return bench.defineDriver({kind, settings, plan, read})');
  const { kind, plan, read, files, metrics, reports } = driver;
  const asWrong = (problem: string) => wrong([], `driver ${kind}: ${problem}`);
  const asFaulty = (problem: string) => faulty(`driver ${kind}: ${problem}`);
  return {
    ...driver,
    settings: driver.settings.extend({ kind: z.literal(kind) }),
    files: (settings) => guarded(nothing, () => texts.parse(files(own(settings)))),
    metrics: (settings) => guarded(unknown, () => metricList.parse(metrics(own(settings)))),
    reports: (...args) => guarded(nothing, () => reports(...args)),
    plan: (settings, place) => guarded(asWrong, () => driverPlanSchema.parse(plan(own(settings), place))),
    read: (settings, left) => guarded(asFaulty, () => harnessResultSchema.parse(read(own(settings), left))),
  };
}

const nothing = () => [];
const unknown = () => null;

/** Removes `kind`, which belongs to bench and is not a setting of the plug-in. */
function own(settings: unknown): unknown {
  if (!isRecord(settings)) return settings;
  const { kind: _, ...others } = settings;
  return others;
}

/** @throws Error when the export is not a function of the API */
export function calledWithApi(exported: unknown): unknown {
  if (typeof exported !== 'function') throw new Error('its default export is not a function');
  return exported(API);
}

function guarded<Value>(instead: (problem: string) => Value, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    return instead(plugInProblem(error));
  }
}

/** A problem in one line; for a value of the wrong form, its first place. */
export function plugInProblem(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return `gives a wrong ${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'invalid'}`;
  }
  return errorText(error).split('\n', 1).join('');
}
