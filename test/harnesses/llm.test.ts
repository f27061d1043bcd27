import { symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';

const STUB = join(import.meta.dirname, '..', 'support', 'stub-trtllm-bench.mjs');

/** A matrix of trtllm-bench in a folder of its own, with the stub on PATH. */
async function checkout(more: readonly string[] = []) {
  const cwd = temporaryFolder();
  const matrix = `models:
  llama:
    harness:
      kind: trtllm-bench
      mode: throughput
      model: meta-llama/Llama-3.1-8B
      dataset: "{isl}.jsonl"
      streaming: true
      concurrency: "{concurrency}"
${more.map((line) => `      ${line}\n`).join('')}axes: {isl: [16, 32], concurrency: [1, 8]}
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

/** What `bench show` says of the only run in the store. */
async function shownRun(options: { readonly cwd: string }): Promise<string> {
  const [cell] = JSON.parse((await bench(['ls', 'cells', '--json'], options)).stdout).cells;
  const shown = await bench(['show', cell.key], options);
  const [, runId = ''] = /^([\da-f]{8}) .* timed /m.exec(shown.stdout) ?? [];
  return (await bench(['show', runId], { ...options, env: { COLUMNS: '200' } })).stdout;
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
  const again = await bench(['import', 'artefacts', '--db', 'again.sqlite'], options);
  expect(again.stdout).toContain('4 runs stored');
});

test('a report without a field: the run failed, and show says which', async () => {
  const options = await checkout();
  const env = { ...options.env, STUB_WITHOUT: 'performance.request_throughput_req_s' };
  const args = ['run', 'llm.yaml', '--no-telemetry', '--filter', 'isl=16 & concurrency=8', '--json'];
  const ran = await bench(args, { ...options, env });
  expect(ran.code).toBe(4);
  expect(await shownRun(options)).toContain(
    'report.json: no field performance.request_throughput_req_s: is it a report of trtllm-bench 1.2?',
  );
});

test('what trtllm-bench said last is the reason of its failure', async () => {
  const options = await checkout(['extraArgs: [--warp_speed, "9"]']);
  await bench(['run', 'llm.yaml', '--no-telemetry', '--filter', 'isl=16 & concurrency=8'], options);
  expect(await shownRun(options)).toContain('Error: No such option: --warp_speed');
});

test('without the program the environment lacks it', async () => {
  const options = await checkout();
  const env = { ...options.env, PATH: '/usr/bin:/bin' };
  const ran = await bench(['run', 'llm.yaml', '--no-telemetry'], { ...options, env });
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain('bench: trtllm-bench: no such program');
});

test('a data set that is missing names the command that makes it', async () => {
  const options = await checkout();
  writeFileSync(join(options.cwd, 'more.yaml'), 'extends: llm.yaml\naxes: {isl: [16, 64], concurrency: 1}\n');
  const planned = await bench(['plan', 'more.yaml'], options);
  expect(planned).toMatchObject({ code: 2, stdout: '' });
  expect(planned.stderr).toContain(
    'llm.yaml:7:16: 64.jsonl: no such file, or it cannot be read; bench can make one: bench model make-dataset 64.jsonl --requests 1000 --input-mean 128 --output-mean 128',
  );
});
