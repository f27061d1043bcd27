import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';
import { GPU_TRTEXEC, GpuMachine } from '../support/gpu-machine.ts';
import { ONNX_MODELS } from '../support/onnx-models.ts';

/** A visit to a machine whose engines of level 0 take twice as long, each call with the parts that are meant. */
function visitTo(gpus: number, name: string) {
  const machine = new GpuMachine(gpus);
  const folder = temporaryFolder();
  const [models, out, trtexec] = [join(folder, 'models'), join(folder, 'visit'), join(folder, 'trtexec')];
  mkdirSync(models);
  for (const model of ['resnet', 'vit']) {
    for (const variant of ['', '_fp8']) {
      copyFileSync(join(ONNX_MODELS, `${model}_tiny.onnx`), join(models, `${model}_tiny${variant}.onnx`));
    }
  }
  const factor = `process.argv.includes('--builderOptimizationLevel=0') ? '2' : '1'`;
  writeFileSync(
    trtexec,
    `#!/usr/bin/env node\nprocess.env.STUB_ENGINE_FACTOR = ${factor};\nawait import('${GPU_TRTEXEC}');\n`,
  );
  chmodSync(trtexec, 0o755);
  const visit = (only: string) => {
    const args = [name, '--models', models, '--out', out, '--trtexec', trtexec, '--only', only];
    // Builds of level 5 never end by themselves.
    const rules = '[{"when": "--builderOptimizationLevel=5", "does": "hangs"}]';
    const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'real-gpu.ts'), ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...machine.env, STUB_RULES: rules },
    });
    return { status, lines: stdout.split('\n').filter((line) => /^(?:not )?ok /.test(line)) };
  };
  return { out, visit };
}

test('a visit to a machine with two GPUs writes a line for each check, and finds a number that is not that of its log', () => {
  const { out, visit } = visitTo(2, 'gpus');
  expect(visit('all GPUs')).toEqual({
    status: 0,
    lines: [
      'ok  all GPUs: every run is measured: {"measured":48,"unfit":0,"failed":0,"skipped":0,"kept":0,"replaced":0}',
      'ok  all GPUs: one run at a time on each GPU: 52 runs, 0 overlaps',
    ],
  });
  const report = readFileSync(join(out, 'report.md'), 'utf8').replace(/[\d.]+ s\b/g, 'N s');
  expect(report).toContain('| all GPUs | N s | N s |');
  expect(visit('logs').lines).toEqual([
    'ok  logs: every stored number is that of its log: 48 runs, 960 values, 0 differences',
  ]);
  expect(visit('next door')).toEqual({
    status: 0,
    lines: [
      'ok  a build next door: it lasted longer than the sweep: exit code 130, 1 other GPUs',
      expect.stringMatching(
        /^ok {2}a build next door: a build next door changes nothing: (?:[^;]*: same 0\.00 %(?:; |$)){8}/,
      ),
    ],
  });
  const store = new Database(join(out, 'bench.sqlite'));
  store
    .prepare(
      `UPDATE measurements SET throughput_qps = throughput_qps + 1 WHERE rowid = (SELECT min(rowid) FROM measurements)`,
    )
    .run();
  store.close();
  const wrong = visit('logs');
  expect([wrong.status, wrong.lines]).toEqual([1, [expect.stringContaining('1 differences')]]);
}, 60_000);

test('a visit finds engines of another level in pairs, in the sweep in which they are new', () => {
  const { visit } = visitTo(1, 'confirm');
  const expected = { status: 0, lines: ['ok  sweeps without a change: no finding: 3 of 3 sweeps of 10 cells'] };
  expect(visit('sweeps without')).toEqual(expected);
  // A sweep of four cells: the others of the group have their last good engine from the sweep before.
  expect(visit('process in a sweep').lines).toEqual([
    'not ok  a second process in a sweep: runs are called contended: 0 of 8',
    'ok  a second process in a sweep: the engines are not blamed for it: 0.00 % without it; nothing slower',
  ]);
  const { lines, status } = visit('level');
  expect([status, lines.length]).toEqual([0, 1]);
  expect(lines[0]).toContain(
    '--confirm: changes of 2 % and more are new in that sweep, and last: new slower, lasts by pairs: 5 cells, ',
  );
  expect(lines[0]).toContain('gpuComputeMs +100.00 %');
  expect(lines[0]?.match(/in 5 of 5 pairs with the engine of sweep \w{8}: the cause is the engine/g)).toHaveLength(3);
  expect(lines[0]).toContain('compared: +100.00 % +100.00 % ? ? ?');
}, 120_000);

test.each([
  [['numbers'], /^usage: /],
  [['numbers', '--models', 'nowhere'], /^--models nowhere: no \*\.onnx in it$/],
  [['numbers', '--models', ONNX_MODELS, '--limit', 'soon'], /^--limit soon: give seconds$/],
  [
    ['numbers', '--models', ONNX_MODELS, '--trtexec', '/nowhere/trtexec'],
    /^--trtexec: \/nowhere\/trtexec is not an executable program$/,
  ],
  [['numbers', '--models', ONNX_MODELS, '--trtexec', '/bin/false'], /^\/bin\/false --help fails: give --trtexec PATH$/],
  [['numbers', '--bogus'], /^Unknown option '--bogus'/],
])('what cannot be begun is one line: %j', (args, line) => {
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'real-gpu.ts'), ...args], {
    encoding: 'utf8',
  });
  expect([status, stderr.trim().split('\n')]).toEqual([2, [expect.stringMatching(line)]]);
});
