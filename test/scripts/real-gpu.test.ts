import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';
import { GPU_TRTEXEC, GpuMachine } from '../support/gpu-machine.ts';
import { ONNX_MODELS } from '../support/onnx-models.ts';

test('a visit to a machine with two GPUs writes a line for each check, and sees a number that is not that of its log', () => {
  const machine = new GpuMachine(2);
  const folder = temporaryFolder();
  const [models, out] = [join(folder, 'models'), join(folder, 'visit')];
  mkdirSync(models);
  for (const model of ['resnet', 'vit']) {
    for (const variant of ['', '_fp8']) {
      copyFileSync(join(ONNX_MODELS, `${model}_tiny.onnx`), join(models, `${model}_tiny${variant}.onnx`));
    }
  }
  const visit = (...only: readonly string[]) => {
    const args = ['gpus', '--models', models, '--out', out, '--trtexec', GPU_TRTEXEC, ...only];
    const env = { ...process.env, ...machine.env };
    const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'real-gpu.ts'), ...args], {
      encoding: 'utf8',
      env,
    });
    return { status, lines: stdout.split('\n').filter((line) => /^(?:not )?ok /.test(line)) };
  };
  expect(visit('--only', 'all GPUs')).toEqual({
    status: 0,
    lines: [
      'ok  all GPUs: every run is measured: {"measured":48,"unfit":0,"failed":0,"skipped":0,"kept":0,"replaced":0}',
      'ok  all GPUs: one run at a time on each GPU: 52 runs, 0 overlaps',
    ],
  });
  expect(visit('--only', 'logs').lines).toEqual([
    'ok  logs: every stored number is that of its log: 48 runs, 1296 values, 0 differences',
  ]);
  const store = new Database(join(out, 'bench.sqlite'));
  store
    .prepare(
      `UPDATE measurements SET throughput_qps = throughput_qps + 1 WHERE rowid = (SELECT min(rowid) FROM measurements)`,
    )
    .run();
  store.close();
  const wrong = visit('--only', 'logs');
  expect([wrong.status, wrong.lines]).toEqual([1, [expect.stringContaining('1 differences')]]);
}, 60_000);
