import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

describe('bench run --budget', () => {
  test('leaves out what does not fit, says so, and begins with it the next night', async () => {
    const folder = temporaryFolder();
    const db = join(folder, 'bench.sqlite');
    // By warm-up and duration a run is expected to take 3.9 s.
    const matrix = stubMatrix(folder, ['repeats: 2']);
    const args = ['run', matrix, '--trtexec', STUB, '--db', db, '--max-repeats', '2'];
    const night = async (): Promise<{ stderr: string; batches: number[] }> => {
      const { code, stderr } = await bench([...args, '--budget', '30s']);
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      const rows = queryStore<{ shapes: string }>(
        db,
        `SELECT DISTINCT shapes FROM runs JOIN cells USING (cell_key) WHERE sweep_id =
           (SELECT sweep_id FROM sweeps ORDER BY started_at DESC LIMIT 1)`,
      );
      return { stderr, batches: rows.map(({ shapes }) => JSON.parse(shapes).input[0]) };
    };
    const first = await night();
    // The first build takes a minute for all that is known: one cell is measured in any case.
    expect(first.batches).toEqual([1]);
    expect(first.stderr).toContain(
      'note: the budget of 30.0 s leaves out 1 of 2 cells (about 7.8 s); they come first next time: small fp16 8x3 graph\n',
    );
    // The engine is there by now, and a run took no second.
    const second = await night();
    expect(second.batches.toSorted()).toEqual([1, 8]);
    expect(second.stderr).not.toContain('leaves out');
  });
});
