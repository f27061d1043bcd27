import type { HarnessResult } from '../../records/harness.ts';
import { defineDriver, type DriverPlace, type DriverPlan, type HarnessFiles, type LoneReport } from '../driver.ts';
import { programOf, startOf } from '../started-program.ts';
import { P50, readReport } from './report.ts';
import { DEFAULT_ESTIMATE_S, type PerfAnalyzerSettings, perfAnalyzerSettings } from './settings.ts';

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
  return {
    kind: 'planned',
    cell: {
      harness: HARNESS,
      identity: { concurrency: String(concurrency), ...(batch === undefined ? {} : { batch: String(batch) }) },
      argv: programOf(
        [
          program,
          '-m',
          serves,
          ...(batch === undefined ? [] : ['-b', batch]),
          `--concurrency-range=${concurrency}:${concurrency}:1`,
          '-f',
          `{runFolder}/${REPORT}`,
          ...args,
        ],
        resolve,
      ),
      resultFiles: [REPORT],
      ...startOf(settings, resolve, DEFAULT_ESTIMATE_S),
    },
  };
}

function read({ version }: PerfAnalyzerSettings, files: HarnessFiles): HarnessResult {
  const text = files.text(REPORT);
  if (text === null) return { kind: 'faulty', problem: `${REPORT} was not written` };
  const rows = readReport(text);
  if (rows === null) return { kind: 'faulty', problem: `${REPORT} is no report of perf_analyzer` };
  const [row] = rows;
  if (row === undefined || rows.length > 1) {
    return { kind: 'faulty', problem: `${REPORT}: ${rows.length} rows instead of one` };
  }
  if (row.result.kind === 'faulty') {
    return { kind: 'faulty', problem: `${REPORT}: ${row.result.problem}` };
  }
  const { reading } = row.result;
  const method = { ...reading.method, harnessVersion: version ?? null };
  return { kind: 'read', reading: { ...reading, method } };
}

function reports(text: string): LoneReport[] {
  return (readReport(text) ?? []).map(({ load, result }) => ({
    harness: HARNESS,
    result,
    model: null,
    precision: null,
    shapes: null,
    cudaGraph: null,
    identity: { [load.kind]: load.value },
    startedAt: null,
  }));
}
