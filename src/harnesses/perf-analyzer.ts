import { parse } from 'csv-parse/sync';

import type { HarnessValue } from '../records/harness.ts';
import { customMetric } from '../records/metric.ts';
import { defineHarness, type FoundReport, option } from './define-harness.ts';
import * as setting from './settings.ts';

const P50 = customMetric('latencyP50', 'lower', 'ms');
const INFERENCES = 'Inferences/Second';
const LOADS = { Concurrency: 'concurrency', 'Request Rate': 'requestRate' } as const;

/** Parts of a request, averaged over requests, in microseconds. */
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

/** NVIDIA's perf_analyzer, read from the CSV of its `-f`: one row per load, times in microseconds. */
export const perfAnalyzerDriver = defineHarness({
  kind: 'perf-analyzer',
  about: "NVIDIA's perf_analyzer against a server that runs already",
  settings: {
    program: setting.text('Its name or path. Default: perf_analyzer').optional(),
    serves: setting.text("The model's name on the server. Default: its name in this file").optional(),
    concurrency: setting.count(1, 'Concurrent requests: --concurrency-range'),
    batch: setting.count(1, 'Samples in a request: -b').optional(),
    args: setting.argumentList.describe('More arguments, such as [-u, "localhost:8001", -i, grpc]').optional(),
    ...setting.program(30),
  },
  defaultEstimateS: 30,
  timer: 'wall',
  percentileRule: 'orderStatistic',
  metric: P50,
  mark: /^(?:\uFEFF)?(?:Concurrency|Request Rate),Inferences\/Second/,
  report: 'report.csv',
  started: ({ program = 'perf_analyzer', serves, concurrency, batch, args = [] }, { model }) => {
    const range = `--concurrency-range=${concurrency}:${concurrency}:1`;
    return {
      identity: { concurrency, batch },
      run: [program, '-m', serves ?? model, ...option('-b', batch), range, '-f', '{runFolder}/report.csv', ...args],
    };
  },
  found: (text) => {
    const [header = [], ...rows] = tableOf(text);
    const loadColumn = header.findIndex((name) => name in LOADS);
    const name = header[loadColumn];
    if ((name !== 'Concurrency' && name !== 'Request Rate') || !header.includes(INFERENCES)) return null;
    return rows.map((row, place) => {
      const load = row[loadColumn] ?? '';
      const values = header.flatMap((column, index) => valueOf(column, row[index] ?? '') ?? []);
      const found = rowReport(LOADS[name], load, values, `line ${place + 2}`);
      return { ...found, stated: { identity: { [LOADS[name]]: load } } };
    });
  },
});

function tableOf(text: string): string[][] {
  try {
    const table: string[][] = parse(text, { trim: true, bom: true, skip_empty_lines: true, relax_column_count: true });
    return table;
  } catch {
    return [];
  }
}

function rowReport(kind: string, load: string, values: readonly HarnessValue[], line: string): FoundReport {
  const p50 = values.find(({ metric }) => metric === P50);
  const isWhole = values.every(({ value }) => Number.isFinite(value)) && Number(load) > 0;
  if (p50 === undefined || !isWhole) return { problem: `${line}: not a load with the numbers of perf_analyzer` };
  const known = kind === 'concurrency' ? { inFlight: Number(load) } : {};
  return { ...known, values: [p50, ...values.filter((one) => one !== p50)] };
}

function valueOf(column: string, text: string): HarnessValue | null {
  const number = text === '' ? Number.NaN : Number(text);
  if (column === INFERENCES) return { metric: customMetric('inferencesPerS', 'higher', 'infer/s'), value: number };
  const percent = /^p(\d+) latency$/.exec(column)?.[1];
  const part = percent === undefined ? PARTS[column] : `latencyP${percent}`;
  return part === undefined ? null : { metric: customMetric(part, 'lower', 'ms'), value: number / 1000 };
}
