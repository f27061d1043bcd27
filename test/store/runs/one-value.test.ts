import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { METRIC_IDS, metricDefinition, metricOf, metricWord, type OwnMetricId } from '../../../src/records/metric.ts';
import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { change } from '../../support/store-dump.ts';
import { jsonOf, OUTPUTS } from '../../support/outputs.ts';
import { pageDataIn } from '../../support/page-data.ts';

/** Of each metric another number, in its own unit; those that are computed follow from the others. */
const POWER_W = 210;
const RATES = { throughputQps: 40, itemsPerS: 320 } as const;

function valueOf(metric: OwnMetricId): number {
  const { stored } = metricDefinition(metric);
  if (stored.table === 'energy') return (1000 * POWER_W) / RATES[stored.over];
  if (metric === 'powerW') return POWER_W;
  if (metric === 'throughputQps' || metric === 'itemsPerS') return RATES[metric];
  // A share is never above 1.
  return metric === 'gpuBusy' ? 0.5 : 1000 + METRIC_IDS.indexOf(metric);
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** One SQL statement that gives all runs, or all builds, this value. */
function statementFor(metric: OwnMetricId): string {
  const value = valueOf(metric);
  const { stored } = metricDefinition(metric);
  switch (stored.table) {
    case 'builds':
    case 'measurements':
      return `UPDATE ${stored.table} SET ${snake(stored.column)} = ${value}`;
    case 'timeStatistics':
      return stored.column === 'p99Ms'
        ? `UPDATE time_statistics SET percentiles = json_set(percentiles, '$."99"', ${value}) WHERE metric = '${stored.of}'`
        : `UPDATE time_statistics SET median_ms = ${value} WHERE metric = '${stored.of}'`;
    case 'runTelemetry':
      return `UPDATE run_telemetry SET ${snake(stored.column)} = ${value}`;
    case 'runHints': {
      const role = stored.of === 'run' ? 'timed' : 'build';
      return `INSERT OR REPLACE INTO run_hints (run_id, hint, value) SELECT run_id, '${stored.hint}', ${value} FROM runs WHERE role = '${role}'`;
    }
    case 'runValues':
      return `INSERT INTO run_values (run_id, metric, position, value) SELECT run_id, '${metric}', 0, ${value} FROM runs WHERE role = 'timed'`;
    case 'accuracies':
      return `INSERT INTO accuracy (accuracy_id, model, precision, precision_via, reference_sha256, variant_sha256, inputs,
        samples, relative_error, cosine_min, cosine_mean, max_abs_error, versions, provenance, measured_at)
        SELECT '0', 'm', 'fp8', 'modelopt', '0', model_sha256, '{"kind":"exported"}', 1, ${value / 100}, 1, 1, 1, '{}', 'recorded',
          '2026-01-01T00:00:00Z' FROM builds LIMIT 1`;
    case 'energy':
      return '';
  }
}

let db: string;
const read = new Map<string, ReadonlyMap<string, number | null | undefined>>();

beforeAll(async () => {
  const cwd = sharedFolder();
  db = join(cwd, 'bench.sqlite');
  const limits = METRIC_IDS.map(
    (id) => `'${metricWord(id)} ${metricOf(id).betterIs === 'lower' ? '<= 0.001' : '>= 1000000'}'`,
  );
  const pair = join(ROOT, 'matrices', 'quickstart-pair.yaml');
  writeFileSync(join(cwd, 'm.yaml'), `extends: ${pair}\nname: m\ngate: { limits: [${limits.join(', ')}] }\n`);
  for (let sweep = 0; sweep < 2; sweep += 1) await bench(['run', 'm.yaml', '--filter', 'batch=8', '--db', db], { cwd });
  change(
    db,
    `UPDATE measurements SET gpu_compute_centre_ms = NULL, latency_centre_ms = NULL;
    UPDATE builds SET model_sha256 = 'a';
    INSERT INTO run_telemetry (run_id, samples, clock_reasons, other_processes) SELECT run_id, 9, '{}', '[]' FROM runs;
    ${METRIC_IDS.map(statementFor).join(';')}`,
  );

  const { stdout: csv } = await bench(['report', '--csv', '-', '--db', db]);
  const [names = [], ...rows] = csv.split('\n').map((line) => line.split(','));
  const timed = rows.find((row) => row[names.indexOf('repeat')] === '1') ?? [];
  read.set('csv', new Map(METRIC_IDS.map((id) => [id, Number(timed[names.indexOf(id)])])));
  const { findings } = await jsonOf(OUTPUTS.check, ['check', '--db', db]);
  read.set('limits', new Map(findings.flatMap(({ metrics }) => metrics.map(({ metric, after }) => [metric, after]))));
});

test.each(METRIC_IDS)('%s: every reader gives the same number', async (id) => {
  const asked = ['--metric', metricWord(id), '--db', db];
  const trend = await jsonOf(OUTPUTS.trend, ['trend', '--by', 'sweep', ...asked]);
  const compared = await jsonOf(OUTPUTS.compare, ['compare', ...asked]);
  const page = pageDataIn((await bench(['report', '--html', '-', ...asked])).stdout);
  const value = valueOf(id);
  expect({
    trend: trend.cells[0]?.points.map((point) => point.value),
    compare: [compared.cells[0]?.base, compared.cells[0]?.head],
    page: page.cells[0]?.values,
    csv: read.get('csv')?.get(id),
    limits: read.get('limits')?.get(id),
  }).toEqual({ trend: [value, value], compare: [value, value], page: [value, value], csv: value, limits: value });
});
