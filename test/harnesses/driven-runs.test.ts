import { chmodSync, readFileSync, writeFileSync, symlinkSync } from 'node:fs';
import { join, delimiter, dirname } from 'node:path';

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

const STUB = join(import.meta.dirname, '..', 'support', 'stub-trtllm-bench.mjs');

/** A matrix of trtllm-bench in a folder of its own, with the stub on PATH. */
async function checkout() {
  const cwd = temporaryFolder();
  const matrix = `models:
  llama:
    harness: {kind: trtllm-bench, mode: throughput, model: meta-llama/Llama-3.1-8B, dataset: "{isl}.jsonl",
      streaming: true, concurrency: "{concurrency}"}
axes: {isl: [16, 32], concurrency: [1, 8]}
repeats: 1\n`;
  writeFileSync(join(cwd, 'llm.yaml'), matrix);
  symlinkSync(STUB, join(cwd, 'trtllm-bench'));
  const options = { cwd, env: { PATH: [cwd, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter) } };
  for (const isl of ['16', '32']) {
    const sizes = ['--requests', '50', '--input-mean', isl, '--output-mean', '8'];
    await bench(['model', 'make-dataset', `${isl}.jsonl`, ...sizes], options);
  }
  return options;
}

test('a matrix of trtllm-bench runs without trtexec, and its numbers are in the store', async () => {
  const options = await checkout();
  const ran = await bench(['run', 'llm.yaml', '--no-telemetry'], options);
  expect({ code: ran.code, first: ran.stdout.split('\n')[0] }).toEqual({ code: 0, first: '4 runs' });
  const { cells } = JSON.parse((await bench(['ls', 'cells', '--json'], options)).stdout);
  const labels: string[] = cells.map(({ label }: { label: string }) => label);
  expect(labels).toHaveLength(4);
  expect(labels.filter((label) => label.includes(' concurrency=8 isl=32 by trtllm-bench/wall'))).toHaveLength(1);
  expect(labels).toContainEqual(
    expect.stringMatching(
      /^llama mode=throughput checkpoint=meta-llama\/Llama-3.1-8B backend=pytorch dataset=[\da-f]{12} streaming concurrency=1 isl=16 by trtllm-bench\/wall$/,
    ),
  );
  // A lost store is made again from what the runs left.
  expect((await bench(['import', 'artefacts', '--db', 'again.sqlite'], options)).stdout).toContain('4 runs stored');
});
