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
    harness:
      kind: torch-tensorrt
      run: [./bench_vit.js, --batch, "{batch}", --graph, "{cudaGraph}", "{precision}"]
      timer: wall
      warmUpRuns: 10
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

test('perf_analyzer writes its report into the folder of the run, one cell a concurrency', async () => {
  const folder = temporaryFolder();
  // Plays perf_analyzer: what it was told, and a report in the form of its documentation.
  script(
    folder,
    'perf_analyzer',
    `const args = process.argv.slice(2);
const [load] = args.find((arg) => arg.startsWith('--concurrency-range=')).split('=')[1].split(':');
require('node:fs').writeFileSync(args[args.indexOf('-f') + 1],
  'Concurrency,Inferences/Second,Client Send,p50 latency,p90 latency,p95 latency,p99 latency\\n' +
  [load, 80 * load, 100, 12000 + 1000 * load, 15000, 16000, 17000].join(',') + '\\n');`,
  );
  writeFileSync(
    join(folder, 'serve.yaml'),
    `models:
  vit:
    harness:
      kind: perf-analyzer
      program: ./perf_analyzer
      concurrency: "{concurrency}"
axes: {concurrency: [1, 4]}
repeats: 1
`,
  );
  const db = join(folder, 'bench.sqlite');
  const ran = await bench(['run', 'serve.yaml', '--db', db], { cwd: folder });
  expect([ran.code, ran.stderr.includes('failed')]).toEqual([0, false]);
  const rows = queryStore(
    db,
    `SELECT c.axis_flags, v.metric, v.value, m.in_flight FROM cells c JOIN runs USING (cell_key)
     JOIN run_methods m USING (run_id) JOIN run_values v USING (run_id)
     WHERE v.position = 0 ORDER BY v.value`,
  );
  const metric = 'latencyP50:lower:ms';
  expect(rows).toEqual([
    { axis_flags: '{"concurrency":"1"}', metric, value: 13, in_flight: 1 },
    { axis_flags: '{"concurrency":"4"}', metric, value: 16, in_flight: 4 },
  ]);
});
