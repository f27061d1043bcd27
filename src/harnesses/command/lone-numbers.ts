import type { HarnessResult } from '../../records/harness.ts';
import { type CustomMetricId, metricOf } from '../../records/metric.ts';
import type { LoneReport } from '../driver.ts';
import { readCommand } from './read.ts';
import type { CommandSettings } from './settings.ts';

/**
 * Numbers that somebody else took, such as the end-to-end times of an application: one a line, or the field of that name
 * in a JSON object or in each of JSON lines. The median counts.
 */
export function loneNumbers(text: string, metric: CustomMetricId): LoneReport {
  return {
    harness: { name: 'command', timer: 'unknown', metric },
    result: readNumbers(text, metric),
    model: null,
    precision: null,
    shapes: null,
    cudaGraph: null,
    identity: {},
    startedAt: null,
  };
}

function readNumbers(text: string, metric: CustomMetricId): HarnessResult {
  const { betterIs, label, unit } = metricOf(metric);
  const settings = { kind: 'command', run: ['-'], metrics: { [label]: { unit, better: betterIs } } };
  if (/^\s*\{/.test(text)) {
    return read({ ...settings, kind: 'command', output: isOneObject(text) ? 'json' : 'jsonl' }, text);
  }
  const lines = text.split(/\r?\n/).map((line) => line.replace(/#.*/, '').trim().replace(/,$/, ''));
  const numbers: string[] = [];
  for (const [place, line] of lines.entries()) {
    if (line === '' || (numbers.length === 0 && line.replaceAll('"', '') === label)) continue;
    if (!Number.isFinite(Number(line))) {
      return { kind: 'faulty', problem: `line ${place + 1} is no number: ${JSON.stringify(line).slice(0, 60)}` };
    }
    numbers.push(line);
  }
  if (numbers.length === 0) return { kind: 'faulty', problem: 'no number in it' };
  const objects = numbers.map((number) => JSON.stringify({ [label]: Number(number) })).join('\n');
  return read({ ...settings, kind: 'command', output: 'jsonl' }, objects);
}

function read(settings: CommandSettings, text: string): HarnessResult {
  const result = readCommand(settings, { text: () => text });
  return result.kind === 'read' ? result : { ...result, problem: result.problem.replace(/^stdout\.log: /, '') };
}

function isOneObject(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
