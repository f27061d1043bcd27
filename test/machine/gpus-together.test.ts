import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, ROOT } from '../support/bench.ts';
import { GpuMachine } from '../support/gpu-machine.ts';

/** Says which GPUs it sees, which locks it holds, and what is locked. */
const FAKE = `#!/usr/bin/env node
import { appendFileSync, copyFileSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
const { BENCH_LOCK_DIR, CUDA_VISIBLE_DEVICES, STUB_SPANS } = process.env;
const held = [];
for (const descriptor of [3, 4, 5]) {
  try { held.push(readlinkSync('/proc/self/fd/' + descriptor)); } catch {}
}
const locks = held.filter((path) => path.startsWith(BENCH_LOCK_DIR)).map((path) => path.replace(/.*\\/gpu-|\\.lock$/g, ''));
appendFileSync(STUB_SPANS, JSON.stringify({ visible: CUDA_VISIBLE_DEVICES, locks }) + '\\n');
const report = process.argv[process.argv.indexOf('--report_json') + 1];
copyFileSync(join(import.meta.dirname, 'report.json'), report);
`;

function matrix(machine: GpuMachine, tp: string): string {
  const path = join(machine.folder, 'tp.yaml');
  const program = join(machine.folder, 'trtllm-bench.mjs');
  writeFileSync(program, FAKE);
  chmodSync(program, 0o755);
  cpSync(join(ROOT, 'test/fixtures/trtllm-bench/report.json'), join(machine.folder, 'report.json'));
  writeFileSync(join(machine.folder, 'set.jsonl'), '{"task_id":0,"input_ids":[1],"output_tokens":1}\n');
  const harness = `{kind: trtllm-bench, program: ./trtllm-bench.mjs, mode: throughput, model: m, dataset: set.jsonl, tp: '{tp}'}`;
  writeFileSync(path, `models:\n  llama:\n    harness: ${harness}\naxes: {tp: ${tp}}\nrepeats: 1\n`);
  return path;
}

async function run(machine: GpuMachine, tp: string, ...args: string[]) {
  const db = join(machine.folder, 'bench.sqlite');
  return bench(['run', matrix(machine, tp), '--db', db, '--no-telemetry', ...args], { env: machine.env });
}

function started(machine: GpuMachine): { readonly visible: string; readonly locks: readonly string[] }[] {
  const lines = readFileSync(join(machine.folder, 'spans.jsonl'), 'utf8').trim().split('\n');
  return lines.map((line): ReturnType<typeof started>[number] => JSON.parse(line));
}

test('a cell of tp 2 sees two GPUs and holds the locks of both', async () => {
  const machine = new GpuMachine(3);
  const { code, stderr } = await run(machine, '[2]');
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const [process] = started(machine);
  expect(process?.visible).toBe(machine.uuids.slice(0, 2).join(','));
  expect([process?.locks, machine.isLocked]).toEqual([machine.uuids.slice(0, 2), false]);
});

test('beside cells of one GPU, on the GPUs of others', async () => {
  const machine = new GpuMachine(2);
  const { code, stderr } = await run(machine, '[1, 2]', '--gpus', '1,0');
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const processes = started(machine);
  expect(processes.map(({ locks }) => locks.length).toSorted()).toEqual([1, 2]);
  for (const { locks, visible } of processes) expect(visible.split(',').toSorted()).toEqual(locks);
});

test('more GPUs than there are: one line before anything runs', async () => {
  const stderr = 'bench: a cell needs 4 GPUs at once, and 2 are available here (--gpus, CUDA_VISIBLE_DEVICES)\n';
  expect(await run(new GpuMachine(2), '[4]')).toMatchObject({ code: 3, stderr });
});
