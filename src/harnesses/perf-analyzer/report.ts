import { parse } from 'csv-parse/sync';

import type { HarnessResult, HarnessValue } from '../../records/harness.ts';
import { customMetric } from '../../records/metric.ts';

/** What a cell of it is judged by. */
export const P50 = customMetric('latencyP50', 'lower', 'ms');

export interface ReportRow {
  /** What the load was set to: requests under way, or requests a second. */
  readonly load: { readonly kind: 'concurrency' | 'requestRate'; readonly value: string };
  readonly result: HarnessResult;
}

const INFERENCES = 'Inferences/Second';
const LOADS = { Concurrency: 'concurrency', 'Request Rate': 'requestRate' } as const;

/** Parts of a request that are averages over the requests, in microseconds. */
const PARTS: Readonly<Record<string, string>> = {
  'Client Send': 'clientSend',
  'Network+Server Send/Recv': 'networkAndServer',
  'Server Queue': 'serverQueue',
  'Server Compute Input': 'serverComputeInput',
  'Server Compute Infer': 'serverComputeInfer',
  'Server Compute Output': 'serverComputeOutput',
  'Client Recv': 'clientRecv',
  'Avg latency': 'latencyMean',
};

/** `-f FILE` of perf_analyzer: a row for each load, times in microseconds. Null when it is no such file. */
export function readReport(text: string): ReportRow[] | null {
  const [header = [], ...rows] = tableOf(text);
  const loadColumn = header.findIndex((name) => name in LOADS);
  const name = header[loadColumn];
  if ((name !== 'Concurrency' && name !== 'Request Rate') || !header.includes(INFERENCES)) {
    return null;
  }
  return rows.map((row, place) => {
    const value = row[loadColumn] ?? '';
    return {
      load: { kind: LOADS[name], value },
      result: rowResult(header, row, LOADS[name], value, `line ${place + 2}`),
    };
  });
}

function tableOf(text: string): string[][] {
  try {
    const table: string[][] = parse(text, { trim: true, bom: true, skip_empty_lines: true, relax_column_count: true });
    return table;
  } catch {
    return [];
  }
}

function rowResult(
  header: readonly string[],
  row: readonly string[],
  kind: ReportRow['load']['kind'],
  load: string,
  where: string,
): HarnessResult {
  const found = new Map(header.map((name, place) => [name, row[place] ?? '']));
  const values: HarnessValue[] = [];
  for (const [name, text] of found) {
    const metric = metricOf(name);
    if (metric === null) continue;
    const number = text === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(number)) {
      return { kind: 'faulty', problem: `${where}: ${name} is no number: ${text || 'nothing'}` };
    }
    values.push({ metric, value: name === INFERENCES ? number : number / 1000 });
  }
  const p50 = values.find(({ metric }) => metric === P50);
  if (p50 === undefined) return { kind: 'faulty', problem: `${where}: no column "p50 latency"` };
  if (!(Number(load) > 0)) return { kind: 'faulty', problem: `${where}: ${kind} is ${load}` };
  return {
    kind: 'read',
    reading: {
      method: {
        harness: 'perf-analyzer',
        harnessVersion: null,
        timer: 'wall',
        inFlight: kind === 'concurrency' ? Number(load) : null,
        percentileRule: 'orderStatistic',
        transfers: null,
        warmUpRuns: null,
        timedRuns: null,
      },
      // Its file has neither the least nor the largest time.
      latencyMs: null,
      values: [p50, ...values.filter((one) => one !== p50)],
    },
  };
}

function metricOf(column: string) {
  if (column === INFERENCES) return customMetric('inferencesPerS', 'higher', 'infer/s');
  const percent = /^p(\d+) latency$/.exec(column)?.[1];
  const part = percent === undefined ? PARTS[column] : `latencyP${percent}`;
  return part === undefined ? null : customMetric(part, 'lower', 'ms');
}
