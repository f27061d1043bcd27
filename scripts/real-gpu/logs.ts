import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

import { z } from 'zod';

import { percentilesSchema } from '../../src/records/harness.ts';
import type { Visit } from './visit.ts';

const NUMBER = String.raw`(-?[\d.]+(?:e[-+]?\d+)?)`;

/** The names that trtexec gives to the metrics of the store. */
const SUMMARY_NAMES: Readonly<Record<string, string>> = {
  latency: 'Latency',
  enqueue: 'Enqueue Time',
  h2d: 'H2D Latency',
  gpuCompute: 'GPU Compute Time',
  d2h: 'D2H Latency',
};

const runSchema = z.object({
  run_id: z.string(),
  artefact_folder: z.string(),
  throughput_qps: z.number(),
  host_walltime_s: z.number(),
  gpu_total_s: z.number().nullable(),
  queries: z.number().nullable(),
  warm_up_queries: z.number().nullable(),
  cv_percent: z.number().nullable(),
  context_memory_mib: z.number().nullable(),
});

const timesSchema = z.object({
  metric: z.string(),
  min_ms: z.number(),
  max_ms: z.number(),
  mean_ms: z.number().nullable(),
  median_ms: z.number(),
  percentiles: z.string(),
});

interface LogComparison {
  readonly runs: number;
  readonly values: number;
  readonly differences: readonly string[];
}

/** Compares every stored number of every run with the text of its kept log; shares no code with the parser of bench. */
function compareLogsWithStore(visit: Visit): LogComparison {
  const differences: string[] = [];
  let values = 0;
  const runs = visit.rows(
    runSchema,
    `SELECT * FROM runs JOIN measurements USING (run_id) WHERE outcome = 'measured' AND role <> 'build' AND artefact_folder IS NOT NULL`,
  );
  for (const run of runs) {
    const log = readLog(join(visit.place.folder, 'artefacts', run.artefact_folder));
    const summary = log.split('=== Performance summary ===')[1] ?? '';
    const expect = (name: string, stored: number | null, printed: number | null): void => {
      values += 1;
      if (stored !== printed) differences.push(`${run.run_id.slice(0, 8)} ${name}: stored ${stored}, log ${printed}`);
    };
    expect('throughput', run.throughput_qps, find(summary, `Throughput: ${NUMBER} qps`));
    expect('host walltime', run.host_walltime_s, find(summary, `Total Host Walltime: ${NUMBER} s`));
    expect('GPU total', run.gpu_total_s, find(summary, `Total GPU Compute Time: ${NUMBER} s`));
    expect('queries', run.queries, find(log, `Timing trace has ${NUMBER} queries`));
    expect('warm-up queries', run.warm_up_queries, find(log, `Warmup completed ${NUMBER} queries`));
    // Only printed where it is large; bench computes it everywhere.
    const variance = find(log, `coefficient of variance = ${NUMBER}%`);
    if (variance !== null) expect('variance', run.cv_percent, variance);
    expect('context memory', run.context_memory_mib, find(log, `device memory size: ${NUMBER} MiB`));
    for (const times of visit.rows(timesSchema, 'SELECT * FROM time_statistics WHERE run_id = ?', run.run_id)) {
      const { metric } = times;
      const line = summary
        .split('\n')
        .find((text) => text.includes(`] ${SUMMARY_NAMES[metric.replace(/Ms$/, '')]}: min`));
      expect(`${metric} min`, times.min_ms, find(line, `min = ${NUMBER} ms`));
      expect(`${metric} max`, times.max_ms, find(line, `max = ${NUMBER} ms`));
      expect(`${metric} mean`, times.mean_ms, find(line, `mean = ${NUMBER} ms`));
      expect(`${metric} median`, times.median_ms, find(line, `median = ${NUMBER} ms`));
      for (const [percent, value] of Object.entries(percentilesSchema.parse(JSON.parse(times.percentiles)))) {
        expect(`${metric} p${percent}`, value, find(line, String.raw`percentile\(${percent}%\) = ${NUMBER} ms`));
      }
    }
  }
  return { runs: runs.length, values, differences };
}

/** The check of a visit: no stored number differs from its log. */
export function checkLogs(visit: Visit): void {
  const { runs, values, differences } = compareLogsWithStore(visit);
  const figure = `${runs} runs, ${values} values, ${differences.length} differences`;
  visit.check(
    'every stored number is that of its log',
    runs > 0 && differences.length === 0,
    [figure, ...differences.slice(0, 3)].join('; '),
  );
}

function readLog(folder: string): string {
  const plain = join(folder, 'stdout.log');
  if (existsSync(plain)) return readFileSync(plain, 'utf8');
  const packed = `${plain}.zst`;
  return existsSync(packed) ? zstdDecompressSync(readFileSync(packed)).toString('utf8') : '';
}

function find(text: string | undefined, pattern: string): number | null {
  const printed = text?.match(new RegExp(pattern))?.[1];
  return printed === undefined ? null : Number(printed);
}
