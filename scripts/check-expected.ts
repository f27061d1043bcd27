// How many runs of a folder of logs are read as somebody wrote by hand that they should be, and which are not:
//   node scripts/check-expected.ts test/wild/expected.tsv FOLDER
// The logs are of others and not part of the project: test/wild/README.md says where they are from.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';

import { cellOf } from '../src/artefacts/read/identify.ts';
import { readBareLog, type ReadRun } from '../src/artefacts/read/read-run.ts';
import { outcomeReason } from '../src/records/outcome.ts';

const [table = '', folder = ''] = process.argv.slice(2);
const [header = '', ...rows] = readFileSync(table, 'utf8').trimEnd().split('\n');
const names = header.split('\t');
const wanted = rows.map((row) => new Map(row.split('\t').map((value, at) => [names[at] ?? '', value])));
const byFile = Map.groupBy(wanted, (row) => row.get('file') ?? '');

/** Words of the table for what has others in the store. */
const PRECISIONS: Readonly<Record<string, string>> = { unstated: 'unknown', tf32: 'fp32' };

function found(run: ReadRun): ReadonlyMap<string, unknown> {
  const { derived, log, outcome } = run;
  const cell = cellOf(run);
  const numbers = log.measurement ?? log.excerpt;
  const { enqueueMs, gpuComputeMs, latencyMs } = numbers ?? {};
  const isNamed = cell.model !== basename(run.path).replace(/\.log(?:\.gz)?$/, '');
  return new Map<string, unknown>([
    ['model', isNamed ? cell.model : ''],
    ['precision', PRECISIONS[cell.precision] ?? cell.precision],
    ['batch', cell.axisFlags['--batch'] ?? null],
    ['state', outcome.kind],
    ['reason', outcomeReason(outcome) ?? ''],
    ['queries', derived.queries],
    ['warm_up_queries', log.warmUpQueries],
    // The table has no computed throughput.
    ['throughput_qps', log.derived['throughputQps']?.includes('queries') === true ? null : numbers?.throughputQps],
    ['items_per_s', log.imagesPerQuery !== null ? derived.itemsPerS : null],
    ['host_walltime_s', numbers?.hostWalltimeS],
    ['gpu_total_s', numbers?.gpuTotalS],
    ['latency_mean_ms', latencyMs?.mean],
    ['latency_median_ms', latencyMs?.median],
    ['latency_p99_ms', latencyMs?.percentiles['99']],
    ['enqueue_median_ms', enqueueMs?.median],
    ['gpu_mean_ms', gpuComputeMs?.mean],
    ['gpu_median_ms', gpuComputeMs?.median],
    ['gpu_p99_ms', gpuComputeMs?.percentiles['99']],
    ['why', outcome.evidence.map(({ text }) => text).join('\n')],
  ]);
}

function isEqual(column: string, expected: string, actual: unknown): boolean {
  // Evidence may say more than the one line.
  if (column === 'why') return String(actual).replaceAll(/\s/g, '').includes(expected.replaceAll(/\s/g, ''));
  const number = Number(expected);
  if (expected === '') return actual === null || actual === undefined || actual === '';
  return typeof actual === 'number' ? Math.abs(actual - number) <= 1e-9 * Math.abs(number) : actual === expected;
}

let equal = 0;
for (const [file, expected] of byFile) {
  const runs = await readBareLog(join(folder, file));
  const most = Math.max(...expected.map((row) => Number(row.get('run'))));
  if (runs.length > most) {
    process.stdout.write(`${file}: ${runs.length} runs read, ${most} expected\n`);
    process.exitCode = 1;
  }
  for (const row of expected) {
    const number = Number(row.get('run'));
    const run = runs[number - 1];
    const actual = run === undefined ? null : found(run);
    const differing = [...(actual ?? [])].filter(([column, value]) => !isEqual(column, row.get(column) ?? '', value));
    const isFine = number === 0 ? runs.length === 0 : actual !== null && differing.length === 0;
    if (isFine) equal += 1;
    else {
      const texts = differing.map(([column, value]) => `${column}: ${row.get(column)} expected, ${String(value)} read`);
      process.stdout.write(`${file} ${number}: ${actual === null ? `${runs.length} runs read` : texts.join('; ')}\n`);
    }
  }
}
process.stdout.write(`${equal} of ${wanted.length} rows are as expected\n`);
// Fewer than 95 of 100 is a failure.
if (equal < 0.95 * wanted.length) process.exitCode = 1;
