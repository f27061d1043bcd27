import { customMetric } from '../../domain/metrics.ts';
import { defineDriver, type DriverPlan, type DriverPlace } from '../driver.ts';
import { programOf, startOf } from '../started-program.ts';
import { readCommand } from './read.ts';
import { type CommandSettings, commandSettings } from './settings.ts';

/** Any program that prints one JSON object, JSON lines, or numbers that a pattern picks out. */
export const commandDriver = defineDriver({
  kind: 'command',
  settings: commandSettings,
  plan,
  read: readCommand,
});

const DEFAULT_ESTIMATE_S = 10;

function plan(settings: CommandSettings, { resolve }: DriverPlace): DriverPlan {
  const [first] = Object.entries(settings.metrics);
  if (first === undefined) return wrong(['metrics'], 'name at least one metric');
  const patterns = Object.entries(settings.metrics).filter(([, { pattern }]) => pattern);
  for (const [name, { pattern = '' }] of patterns) {
    const problem = patternProblem(pattern);
    if (problem !== null) return wrong(['metrics', name, 'pattern'], problem);
  }
  const [name, { better, unit }] = first;
  return {
    kind: 'planned',
    cell: {
      harness: {
        name: 'command',
        timer: settings.timer ?? 'unknown',
        metric: customMetric(name, better, unit),
      },
      identity: {},
      argv: programOf(settings.run, resolve),
      resultFiles: settings.file === undefined ? [] : [settings.file],
      ...startOf(settings, resolve, DEFAULT_ESTIMATE_S),
    },
  };
}

function wrong(path: readonly string[], problem: string): DriverPlan {
  return { kind: 'wrong', path, problem };
}

function patternProblem(pattern: string): string | null {
  try {
    const groups = (new RegExp(`${pattern}|`).exec('')?.length ?? 0) - 1;
    return groups === 1 ? null : `one group around the number is needed, this has ${groups}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
