import { errorText } from '../../errors.ts';
import { customMetric, type CustomMetricId } from '../../records/metric.ts';
import { defineDriver, type DriverPlan, type DriverPlace, wrong } from '../driver.ts';
import { plannedProgram } from '../started-program.ts';
import { standaloneNumbers, readCommand } from './read.ts';
import { DEFAULT_ESTIMATE_S, type CommandSettings, commandSettings } from './settings.ts';

/** Any program that prints one JSON object, JSON lines, or numbers that a pattern extracts. */
export const commandDriver = defineDriver({
  kind: 'command',
  settings: commandSettings,
  plan,
  read: readCommand,
  metrics: metricsOf,
  reports: (text, _, metric = null, pattern = null) =>
    metric === null ? [] : [standaloneNumbers(text, metric, pattern)],
});

function plan(settings: CommandSettings, { resolve }: DriverPlace): DriverPlan {
  const [metric] = metricsOf(settings);
  if (metric === undefined) return wrong(['metrics'], 'name at least one metric');
  const patterns = Object.entries(settings.metrics).filter(([, { pattern }]) => pattern);
  for (const [name, { pattern = '' }] of patterns) {
    const problem = patternProblem(pattern);
    if (problem !== null) return wrong(['metrics', name, 'pattern'], problem);
  }
  return plannedProgram(settings, resolve, DEFAULT_ESTIMATE_S, {
    harness: { name: 'command', timer: settings.timer ?? 'unknown', metric },
    run: settings.run,
    resultFiles: settings.file === undefined ? [] : [settings.file],
  });
}

/** The first one is the primary metric of the cell. */
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
