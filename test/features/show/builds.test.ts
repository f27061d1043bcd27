import { expect, test } from 'vitest';

import { bench } from '../../support/bench.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { benchJson, OUTPUTS } from '../../support/outputs.ts';
import { simulatedCells, sweepOfNight } from '../../support/simulated-store.ts';
import { change } from '../../support/store-dump.ts';

test('builds of a sweep with other layers than the first are named, with the time of each', async () => {
  const cells = simulatedCells(1);
  const isOther = (night: number): boolean => night === 1;
  const db = simulatedStore({
    cells,
    nights: 3,
    repeats: 1,
    value: (_, night) => (isOther(night) ? 0.41 : 0.38),
    engine: (_, night) => ({ buildId: `${night}`.repeat(32), precisionShare: isOther(night) ? 0.5 : 1 }),
  });
  const show = ['show', cells[0]?.key ?? '', '--db', db];
  const shown = async () => (await benchJson(OUTPUTS['show-cell'], show)).json.differingBuilds;
  expect(await shown()).toEqual([]);
  // As if one sweep had built three times.
  const nth = 'SELECT count(*) FROM runs o WHERE o.role = runs.role AND o.started_at <= runs.started_at';
  change(db, `UPDATE runs SET repeat = (${nth}), sweep_id = '${sweepOfNight(2)}' WHERE role = 'timed'`);
  const line = 'build 2 of 3 differs from the first in 10 layers: 0.4100 ms against 0.3800 ms';
  expect(await shown()).toEqual([line]);
  expect((await bench(show)).stdout).toContain(`\n  ${line}\n`);
});
