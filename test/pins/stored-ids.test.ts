import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';
import { kept, unpack } from './kept.ts';

test('findings of then keep their ids, in the tables of now', async () => {
  const folder = temporaryFolder();
  unpack('history', folder);
  const path = join(folder, 'bench.sqlite');
  expect((await bench(['ls', 'findings'], { cwd: folder })).code).toBe(0);
  const found = queryStore(path, 'SELECT finding_id, cell_key FROM finding_cells ORDER BY finding_id');
  expect(found).toHaveLength(3);
  const text = JSON.stringify(found, null, 1);
  expect(text).toBe(kept('ids/findings.txt', text));
});

test('runs, sweeps, environments and cells of an import', async () => {
  const folder = temporaryFolder();
  const fixtures = ['h100', 'trtexec/failures', 'trtllm-bench/report.json', 'aiperf'];
  const paths = fixtures.map((name) => join(ROOT, 'test', 'fixtures', name));
  const path = join(folder, 'bench.sqlite');
  await bench(['import', ...paths], { cwd: folder });
  const stored = queryStore(
    path,
    'SELECT run_id, sweep_id, environment_id, cell_key, engine_key, outcome FROM runs ORDER BY run_id',
  );
  expect(stored.length).toBeGreaterThan(50);
  const text = stored.map((row) => JSON.stringify(row)).join('\n');
  expect(text).toBe(kept('ids/imported.txt', text));
});
