import { parse } from 'csv-parse/sync';
import * as z from 'zod';
import type { HarnessResult, HarnessValue, Method } from '../../records/harness.ts';
import { customMetric } from '../../records/metric.ts';
import {
  defineDriver,
  type DriverPlace,
  type DriverPlan,
  faulty,
  type HarnessFiles,
  type StandaloneReport,
  NOTHING_STATED,
} from '../driver.ts';
import { argumentList, countSetting, plannedProgram, programSettings, textSetting } from '../started-program.ts';

const DEFAULT_ESTIMATE_S = 30;

const perfAnalyzerSettings = z
  .strictObject({
    kind: z.literal('perf-analyzer'),
    program: textSetting('Its name or path. Default: perf_analyzer').optional(),
    serves: textSetting("The model's name on the server. Default: its name in this file").optional(),
    concurrency: countSetting(1, 'Requests under way at the same time: --concurrency-range'),
    batch: countSetting(1, 'Samples in a request: -b').optional(),
    args: argumentList.describe('More arguments, such as [-u, "localhost:8001", -i, grpc]').optional(),
    ...programSettings(DEFAULT_ESTIMATE_S),
  })
  .describe("NVIDIA's perf_analyzer against a server that runs already");

type PerfAnalyzerSettings = z.infer<typeof perfAnalyzerSettings>;

const P50 = customMetric('latencyP50', 'lower', 'ms');

interface ReportRow {
  /** Concurrent requests, or requests per second. */
  readonly load: { readonly kind: 'concurrency' | 'requestRate'; readonly value: string };
  readonly result: HarnessResult;
}

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

/** `-f FILE` of perf_analyzer: one row per load, times in microseconds. Null if it is no such file. */
function readReport(text: string, harnessVersion: string | null): ReportRow[] | null {
  const [header = [], ...rows] = tableOf(text);
  const loadColumn = header.findIndex((name) => name in LOADS);
  const name = header[loadColumn];
  if ((name !== 'Concurrency' && name !== 'Request Rate') || !header.includes(INFERENCES)) return null;
  return rows.map((row, place) => {
    const load = { kind: LOADS[name], value: row[loadColumn] ?? '' };
    const found = new Map(header.map((column, index) => [column, row[index] ?? '']));
    const result = rowResult(found, load, harnessVersion);
    return { load, result: result.kind === 'read' ? result : faulty(`line ${place + 2}: ${result.problem}`) };
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
  found: ReadonlyMap<string, string>,
  { kind, value: load }: ReportRow['load'],
  harnessVersion: string | null,
): HarnessResult {
  const values: HarnessValue[] = [];
  for (const [name, text] of found) {
    const metric = metricOf(name);
    if (metric === null) continue;
    const number = text === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(number)) return faulty(`${name} is no number: ${text || 'nothing'}`);
    values.push({ metric, value: name === INFERENCES ? number : number / 1000 });
  }
  const p50 = values.find(({ metric }) => metric === P50);
  if (p50 === undefined) return faulty('no column "p50 latency"');
  if (!(Number(load) > 0)) return faulty(`${kind} is ${load}`);
  const method: Method = {
    harness: 'perf-analyzer',
    harnessVersion,
    timer: 'wall',
    inFlight: kind === 'concurrency' ? Number(load) : null,
    percentileRule: 'orderStatistic',
    transfers: null,
    warmUpRuns: null,
    timedRuns: null,
  };
  // Its file has neither minimum nor maximum.
  const latencyMs = null;
  return { kind: 'read', reading: { method, latencyMs, values: [p50, ...values.filter((one) => one !== p50)] } };
}

function metricOf(column: string) {
  if (column === INFERENCES) return customMetric('inferencesPerS', 'higher', 'infer/s');
  const percent = /^p(\d+) latency$/.exec(column)?.[1];
  const part = percent === undefined ? PARTS[column] : `latencyP${percent}`;
  return part === undefined ? null : customMetric(part, 'lower', 'ms');
}

/** NVIDIA's perf_analyzer, by the CSV that its `-f` writes. */
export const perfAnalyzerDriver = defineDriver({
  kind: 'perf-analyzer',
  settings: perfAnalyzerSettings,
  plan,
  read,
  reports,
  mark: /^(?:\uFEFF)?(?:Concurrency|Request Rate),Inferences\/Second/,
});

const HARNESS = { name: 'perf-analyzer', timer: 'wall', metric: P50 } as const;
const REPORT = 'report.csv';

function plan(settings: PerfAnalyzerSettings, { model, resolve }: DriverPlace): DriverPlan {
  const { program = 'perf_analyzer', serves = model, concurrency, batch, args = [] } = settings;
  const batchArgs = batch === undefined ? [] : ['-b', batch];
  const range = `--concurrency-range=${concurrency}:${concurrency}:1`;
  return plannedProgram(settings, resolve, DEFAULT_ESTIMATE_S, {
    harness: HARNESS,
    identity: { concurrency: String(concurrency), ...(batch === undefined ? {} : { batch: String(batch) }) },
    run: [program, '-m', serves, ...batchArgs, range, '-f', `{runFolder}/${REPORT}`, ...args],
    resultFiles: [REPORT],
  });
}

function read({ version }: PerfAnalyzerSettings, files: HarnessFiles): HarnessResult {
  const text = files.text(REPORT);
  if (text === null) return faulty(`${REPORT} was not written`);
  const rows = readReport(text, version ?? null);
  if (rows === null) return faulty(`${REPORT} is no report of perf_analyzer`);
  const [row] = rows;
  if (row === undefined || rows.length > 1) return faulty(`${REPORT}: ${rows.length} rows instead of one`);
  return row.result.kind === 'faulty' ? faulty(`${REPORT}: ${row.result.problem}`) : row.result;
}

function reports(text: string): StandaloneReport[] {
  return (readReport(text, null) ?? []).map(({ load, result }) => ({
    ...NOTHING_STATED,
    harness: HARNESS,
    result,
    identity: { [load.kind]: load.value },
  }));
}
