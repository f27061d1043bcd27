import { cpSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { recordsByCell } from '../../../src/store/runs/accuracies.ts';
import { cellRunsOf, pairRunsOf } from '../../../src/store/runs/cell-runs.ts';
import { layerRunsOfCell } from '../../../src/store/runs/layer-runs.ts';
import { enginesOf, engineKeysOf, failedRunsOf } from '../../../src/store/runs/runs.ts';
import { lastGpusOf, pastRunsOf } from '../../../src/store/runs/time-estimates.ts';
import { environmentsOf } from '../../../src/store/sweeps/environments.ts';
import { cellNumbers, sweepNumbers } from '../../../src/store/sweeps/overview.ts';
import { sweepSpan } from '../../../src/store/sweeps/imports.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { ROOT, sharedFolder } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';

const BETWEEN_SWEEPS = 30;
const LAST = sweepOfNight(BETWEEN_SWEEPS - 1);
const CELLS = simulatedCells(3);
const KEY = CELLS[0]?.key ?? '';
const folder = sharedFolder();
const PLAIN = join(folder, 'plain.sqlite');
const PAIRED = join(folder, 'paired.sqlite');

/** Every run of the last sweep again in a pair: three times as slow or failed, disturbed, later, on another machine. */
const PAIRS = `
  insert into environments (environment_id, gpu_name, gpu_uuid, host, driver, tensorrt)
    values ('dddddddddddddddddddddddddddddddd', 'Another GPU', 'GPU-2', 'elsewhere', '999.9', '11.0.0');
  insert into builds (build_id, model, flags, engine_mib, build_s)
    values ('ffffffffffffffffffffffffffffffff', 'vit', '["--fp16"]', 99, 600);
  create temp table again as select * from runs where sweep_id = '${LAST}';
  update again set run_id = 'f' || substr(run_id, 2), role = 'pair', build_id = 'ffffffffffffffffffffffffffffffff',
    engine_key = 'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', environment_id = 'dddddddddddddddddddddddddddddddd', wall_s = 900,
    outcome = iif(repeat = 3, 'failed', outcome), reason = iif(repeat = 3, 'engineInvalid', reason),
    started_at = '2026-03-01T00:00:00.000Z';
  insert into runs select * from again;
  create temp table slower as select * from measurements where run_id in (select run_id from runs where sweep_id = '${LAST}');
  update slower set run_id = 'f' || substr(run_id, 2), throughput_qps = throughput_qps / 3;
  insert into measurements select * from slower;
  create temp table longer as select * from time_statistics where run_id in (select run_id from runs where sweep_id = '${LAST}');
  update longer set run_id = 'f' || substr(run_id, 2), median_ms = 3 * median_ms, percentiles = json_object('99', 3 * json_extract(percentiles, '$."99"'));
  insert into time_statistics select * from longer;
  insert into run_flags select run_id, 'contended', 'excluded', 1, '' from runs where role = 'pair';`;

beforeAll(() => {
  const normal = normals(4);
  simulateNights(PLAIN, {
    cells: CELLS,
    nights: BETWEEN_SWEEPS,
    repeats: 3,
    commit: (night) => night.toString(16).padStart(40, '0'),
    value: (cell, night) => (cell === 1 && night >= 24 ? 1.1 : 1) * (cell + 1) * Math.exp(0.002 * normal()),
  });
  cpSync(PLAIN, PAIRED);
  const { close, db } = openStore(PAIRED, join(ROOT, 'migrations'));
  db.$client.exec(PAIRS);
  close();
});

test('no count, estimate, engine or machine of a sweep is that of its pairs', () => {
  const facts = (path: string) => {
    const { close, db } = openStore(path, join(ROOT, 'migrations'));
    const keys = CELLS.map(({ key }) => key);
    const read = {
      runs: cellRunsOf(db, [LAST]),
      span: sweepSpan(db, LAST),
      environments: environmentsOf(db, LAST),
      engines: [engineKeysOf(db, LAST, keys), enginesOf(db, [LAST], KEY)],
      failed: failedRunsOf(db, LAST),
      sweep: sweepNumbers(db, [LAST]),
      cells: cellNumbers(db, keys),
      estimates: pastRunsOf(db, keys, 'simulated'),
      gpus: lastGpusOf(db, keys),
      layers: layerRunsOfCell(db, KEY, null),
      accuracies: recordsByCell(db, [LAST]),
    };
    const pairs = pairRunsOf(db, LAST);
    close();
    return { read, pairs };
  };
  const [without, paired] = [facts(PLAIN), facts(PAIRED)];
  expect([paired.read, without.pairs]).toEqual([without.read, []]);
  expect(paired.pairs.map(({ cellKey, outcome, repeat }) => `${cellKey} ${repeat} ${outcome.kind}`).toSorted()).toEqual(
    CELLS.flatMap(({ key }) => [`${key} 1 measured`, `${key} 2 measured`, `${key} 3 failed`]).toSorted(),
  );
});
