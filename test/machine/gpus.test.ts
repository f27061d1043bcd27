import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, benchProcess, refusal } from '../support/bench.ts';
import { GPU_TRTEXEC, GpuMachine } from '../support/gpu-machine.ts';
import { queryStore } from '../support/store-dump.ts';
import { stubMatrix } from '../support/stub.ts';

const CELLS = 6;

/** Six cells, each of another batch: nothing ties them together. */
function nightly(machine: GpuMachine, more: readonly string[] = ['repeats: 2']): string {
  const path = stubMatrix(machine.folder, more);
  const batches = Array.from({ length: CELLS }, (_, index) => index + 1).join(', ');
  const text = [
    'models:',
    '  small:',
    '    shapes: {input: [batch, 3]}',
    '    precisions: {fp16: {onnx: model.onnx}}',
    `axes: {precision: fp16, batch: [${batches}]}`,
    'build: {min: {batch: 1}, opt: {batch: 6}, max: {batch: 6}}',
    ...more,
  ];
  writeFileSync(path, `${text.join('\n')}\n`);
  return path;
}

async function night(machine: GpuMachine, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const db = join(machine.folder, 'bench.sqlite');
  const all = ['run', nightly(machine), '--trtexec', GPU_TRTEXEC, '--db', db, '--no-telemetry', ...args];
  return { ...(await bench(all, { env: { ...machine.env, ...env } })), db };
}

/** GPU UUID by cell label, of one sweep (the newest: `offset` 0). */
function gpusOf(db: string, offset = 0): Record<string, string> {
  const rows = queryStore<{ shapes: string; gpu: string }>(
    db,
    `SELECT DISTINCT shapes, gpu_uuid AS gpu
     FROM runs JOIN cells USING (cell_key) JOIN environments USING (environment_id)
     WHERE role = 'timed' AND outcome = 'measured' AND sweep_id =
       (SELECT sweep_id FROM sweeps ORDER BY started_at DESC LIMIT 1 OFFSET ${offset})
     ORDER BY shapes`,
  );
  return Object.fromEntries(rows.map(({ gpu, shapes }) => [shapes, gpu]));
}

describe('--gpus', () => {
  test('every GPU measures its share, one run at a time, and one engine serves all', async () => {
    const machine = new GpuMachine(3);
    const { code, db, stderr } = await night(machine, ['--gpus', 'all'], { STUB_DELAY_MS: '150' });
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    expect(stderr).toContain('GPU 0 (NVIDIA H200): 2 cells');
    expect([stderr, machine.overlaps]).toEqual([expect.stringContaining('GPU 2 (NVIDIA H200): 2 cells'), []]);
    const { spans } = machine;
    expect(spans.filter(({ role }) => role === 'build')).toHaveLength(1);
    expect(spans.filter(({ role }) => role === 'timed')).toHaveLength(2 * CELLS);
    const ran = Map.groupBy(
      spans.filter(({ role }) => role === 'timed'),
      ({ gpu }) => gpu,
    );
    expect([...ran.keys()].toSorted()).toEqual(machine.uuids);
    expect([...ran.values()].map((list) => list.length)).toEqual([4, 4, 4]);
    // All runs of a cell are on one GPU, whose UUID is stored with them.
    const stored = gpusOf(db);
    expect([Object.keys(stored).length, new Set(Object.values(stored))]).toEqual([CELLS, new Set(machine.uuids)]);
    // At some moment two GPUs were at work.
    const timed = spans.filter(({ role }) => role === 'timed');
    expect(timed.some((a) => timed.some((b) => a.gpu !== b.gpu && a.startMs < b.endMs && b.startMs < a.endMs))).toBe(
      true,
    );
  });

  test('the next night each cell is on the GPU that it was on, until that is not wanted', async () => {
    const machine = new GpuMachine(2);
    const [first = '', second = ''] = machine.uuids;
    const filter = ['--filter', 'batch<=2'];
    await night(machine, ['--gpus', second, ...filter]);
    const { db } = await night(machine, ['--gpus', '0,1']);
    const stored = gpusOf(db);
    expect([stored['{"input":[1,3]}'], stored['{"input":[2,3]}']]).toEqual([second, second]);
    expect(Object.values(stored).filter((gpu) => gpu === first)).toHaveLength(3);
    await night(machine, ['--gpus', '0,1', '--rebalance', ...filter]);
    expect(new Set(Object.values(gpusOf(db)))).toEqual(new Set([first, second]));
  });

  test('one that fails again and again is taken out, and its work is done by the others', async () => {
    const machine = new GpuMachine(2);
    const [, bad = ''] = machine.uuids;
    // One cell on each GPU, so that all failed runs are of one cell.
    const args = ['--gpus', 'all', '--filter', 'batch<=2', '--repeats', '4'];
    const { code, db, stderr } = await night(machine, args, { STUB_BAD_GPU: bad });
    expect([code, stderr]).toEqual([0, expect.stringContaining('GPU 1 · taken out after 3 failures in a row')]);
    const measured = `SELECT count(*) AS runs FROM runs WHERE outcome = 'measured' AND role = 'timed' GROUP BY cell_key`;
    expect(queryStore(db, measured)).toEqual([{ runs: 4 }, { runs: 4 }]);
    expect(queryStore(db, `SELECT count(*) AS failed FROM runs WHERE outcome = 'failed'`)).toEqual([{ failed: 3 }]);
  });

  test('MIG devices are GPUs of their own', async () => {
    const mig = [1, 2].map((n) => `MIG-${n}0000000-0000-5000-8000-000000000000`);
    const [uuid = ''] = new GpuMachine(1).uuids;
    const list = [
      `GPU 0: NVIDIA H200 (UUID: ${uuid})`,
      ...mig.map((id, n) => `  MIG 1g.18gb     Device  ${n}: (UUID: ${id})`),
    ];
    const machine = new GpuMachine(1, { list: `${list.join('\n')}\n` });
    machine.divide();
    const { code, db, stderr } = await night(machine, ['--gpus', 'all']);
    expect([code, code === 0 ? '' : stderr, new Set(Object.values(gpusOf(db)))]).toEqual([0, '', new Set(mig)]);
    // Each is an environment of its own; what it is called its log says.
    expect(queryStore(db, `SELECT DISTINCT gpu_uuid FROM environments`)).toHaveLength(2);
  });

  test('what it cannot be is one clear line', async () => {
    const machine = new GpuMachine(2);
    const [first, second] = machine.uuids;
    const stderr = `bench: --gpus 7: GPU not found; there is GPU 0 (${first}), GPU 1 (${second})\n`;
    expect(await night(machine, ['--gpus', '7'])).toMatchObject({ code: 2, stderr });
    const args = ['--gpus', 'all', '--db', join(machine.folder, 'other.sqlite')];
    const text = 'bench: --gpus and recordings cannot be used together: no GPU will run\n';
    expect(await bench(['run', 'matrices/quickstart-pair.yaml', ...args])).toEqual(refusal(text));
  });
});

test('one GPU: is used by one process at a time, of whatever bench, and nothing is lost', async () => {
  const machine = new GpuMachine(1);
  const db = join(machine.folder, 'bench.sqlite');
  const matrix = nightly(machine, ['repeats: 1']);
  // The engine first: three that build at once are another story.
  const cells = ['run', matrix, '--trtexec', GPU_TRTEXEC, '--db', db, '--no-telemetry', '--filter'];
  await bench([...cells, 'batch=1'], { env: machine.env });
  const some = [...cells, 'batch<=4'];
  const results = await Promise.all(Array.from({ length: 3 }, async () => benchProcess(some, { env: machine.env })));
  expect(results.map(({ code, stderr }) => (code === 0 ? '' : stderr))).toEqual(Array(3).fill(''));
  expect([results.some(({ stderr }) => stderr.includes('database is locked')), machine.overlaps]).toEqual([false, []]);
  const runs = queryStore(db, `SELECT count(*) AS runs FROM runs WHERE role = 'timed' AND outcome = 'measured'`);
  expect(runs).toEqual([{ runs: 3 * 4 + 1 }]);
});
