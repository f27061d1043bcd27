import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';
import { GUIDE } from '../support/recordings.ts';
import { queryStore } from '../support/store-dump.ts';

function script(folder: string, name: string, body: string): void {
  const path = join(folder, name);
  writeFileSync(path, `#!${process.execPath}\n${body}\n`);
  chmodSync(path, 0o755);
}

test('a Torch-TensorRT script in a matrix: the same cell as its standalone report', async () => {
  const folder = temporaryFolder();
  const listing = join(GUIDE, 'listing-16-torch-fp16-b256.txt');
  const text = JSON.stringify(readFileSync(listing, 'utf8'));
  script(folder, 'bench_vit.js', `console.log(process.argv.slice(2).join(' ')); console.log(${text});`);
  writeFileSync(
    join(folder, 'torch.yaml'),
    `models:
  vit:
    shapes: {input: [batch, 3, 224, 224]}
    harness: {kind: torch-tensorrt, run: [./bench_vit.js, --batch, "{batch}", --graph, "{cudaGraph}", "{precision}"],
      timer: wall, warmUpRuns: 10}
axes: {batch: [256], precision: [fp16], cudaGraph: [off]}
repeats: 2
`,
  );
  const db = join(folder, 'bench.sqlite');
  const ran = await bench(['run', 'torch.yaml', '--db', db], { cwd: folder });
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('2 runs')]);
  const statedOptions = ['--model', 'vit', '--shapes', 'input:1x3x224x224', '--cuda-graph', 'off'];
  const taken = await bench(['import', listing, ...statedOptions, '--timer', 'wall', '--db', db]);
  expect([taken.code, taken.stderr]).toEqual([0, '']);
  expect(queryStore(db, 'SELECT model, precision, shapes FROM cells')).toEqual([
    { model: 'vit', precision: 'fp16', shapes: '{"input":[256,3,224,224]}' },
  ]);
  const methods = `SELECT r.provenance, m.timer, m.warm_up_runs AS warmUpRuns, t.median_ms AS medianMs
    FROM runs r JOIN run_methods m USING (run_id) JOIN time_statistics t USING (run_id) ORDER BY r.provenance`;
  const measured = { provenance: 'measured', timer: 'wall', warmUpRuns: 10, medianMs: 115.87 };
  const imported = { ...measured, provenance: 'imported', warmUpRuns: null };
  expect(queryStore(db, methods)).toEqual([imported, measured, measured]);
});
