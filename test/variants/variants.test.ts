import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { OUTPUTS } from '../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../support/bench.ts';
import { describeWithModelopt, MODELOPT_PYTHON } from '../support/modelopt-python.ts';
import { change, queryStore } from '../support/store-dump.ts';
import { STUB } from '../support/stub.ts';

const MODELS = join(ROOT, 'test', 'fixtures', 'onnx');
const STUB_PYTHON = join(import.meta.dirname, '..', 'support', 'stub-python.mjs');

function writeMatrix(folder: string, models: readonly string[], ...more: readonly string[]): string {
  const shapes: Readonly<Record<string, string>> = { mlp: '[batch, 64]' };
  for (const model of models) copyFileSync(join(MODELS, `${model}_tiny.onnx`), join(folder, `${model}_tiny.onnx`));
  const lines = models.map(
    (model) => `  ${model}: {onnx: ${model}_tiny.onnx, shapes: {input: ${shapes[model] ?? '[batch, 3, 32, 32]'}}}`,
  );
  const path = join(folder, 'm.yaml');
  writeFileSync(path, ['models:', ...lines, 'repeats: 1', ...more].join('\n'));
  return path;
}

interface StoredRun {
  readonly id: string;
  readonly role: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly folder: string;
}

function runsOf(db: string): StoredRun[] {
  return queryStore<StoredRun>(
    db,
    `SELECT run_id AS id, role, outcome, reason, artefact_folder AS folder FROM runs ORDER BY started_at`,
  );
}

describeWithModelopt('the three tiny models in five precisions, by the real ModelOpt', () => {
  const folder = sharedFolder();
  const db = join(folder, 'bench.sqlite');
  let first: Awaited<ReturnType<typeof bench>>;
  const PYTHONPATH = join(ROOT, 'test', 'modelopt', 'torch-shim');
  const env = { BENCH_PYTHON: MODELOPT_PYTHON ?? undefined, PYTHONPATH };

  beforeAll(async () => {
    writeMatrix(folder, ['mlp', 'resnet', 'vit'], 'axes: {precision: [fp32, fp16, bf16, fp8, int8], batch: 1}');
    first = await bench(['run', 'm.yaml', '--trtexec', STUB, '--no-telemetry', '--json'], { cwd: folder, env });
  }, 300_000);

  test('every variant is made, and what cannot be made is refused with the reason', () => {
    expect(first.code).toBe(4);
    const { cells } = OUTPUTS.run.parse(JSON.parse(first.stdout));
    expect(cells.filter(({ noEngine }) => noEngine !== null).map(({ label, noEngine }) => [label, noEngine])).toEqual([
      ['mlp fp8 1x64 graph', 'nothingConverted'],
      ['mlp int8 1x64 graph', 'nothingConverted'],
    ]);
    expect(cells).toHaveLength(15);
    const reported = first.stderr.split('\n').filter((line) => line.startsWith('variant '));
    expect(reported.map((line) => line.replace(/made in [^,]+/, 'made').slice(0, 62))).toEqual([
      'variant mlp fp16: made, 5 of 5 nodes converted',
      'variant mlp bf16: made, 5 of 5 nodes converted',
      `variant mlp fp8: ModelOpt quantized no node of ${folder}`.slice(0, 62),
      `variant mlp int8: ModelOpt quantized no node of ${folder}`.slice(0, 62),
      'variant resnet fp16: made, 22 of 22 nodes converted',
      'variant resnet bf16: made, 22 of 22 nodes converted',
      'variant resnet fp8: made, 2 quantized nodes',
      'variant resnet int8: made, 10 quantized nodes',
      'variant vit fp16: made, 69 of 69 nodes converted',
      'variant vit bf16: made, 69 of 69 nodes converted',
      'variant vit fp8: made, 18 quantized nodes',
      'variant vit int8: made, 19 quantized nodes',
    ]);
  });

  test('the failed build is stored with its reason and the log of the conversion', () => {
    const failed = runsOf(db).filter(({ outcome }) => outcome === 'failed');
    expect(failed.map(({ role, reason }) => `${role} ${reason}`)).toEqual(
      Array.from({ length: 2 }, () => 'build nothingConverted'),
    );
    const [run] = failed;
    expect(existsSync(join(folder, 'artefacts', run?.folder ?? '', 'stdout.log.zst'))).toBe(true);
  });

  test('a run says which variant it measured, and with what it was made', () => {
    const manifests = runsOf(db)
      .filter(({ role }) => role === 'timed')
      .map(({ folder: at }) => {
        return JSON.parse(readFileSync(join(folder, 'artefacts', at, 'run.json'), 'utf8'));
      });
    const fp8 = manifests.find(({ cell }) => cell.model === 'vit' && cell.precision === 'fp8');
    expect(fp8.variant).toMatchObject({
      by: 'modelopt',
      precision: 'fp8',
      converted: { nodes: 18, of: 131 },
      calibration: { kind: 'random', seed: 1 },
      packages: { 'nvidia-modelopt': '0.47.0', onnx: '1.21.0', numpy: '2.4.6' },
    });
    expect(fp8.notes).toContain('calibrated on random data: speed only');
    expect(fp8.notes[0]).toMatch(/^fp8 by ModelOpt 0\.47\.0: 18 quantized nodes, variant [0-9a-f]{12}$/);
    expect(manifests.find(({ cell }) => cell.model === 'vit' && cell.precision === 'fp32').variant).toBeUndefined();
  });

  test('FP8 made anew elsewhere has the same bytes', async () => {
    const hashes = await Promise.all(
      [folder, temporaryFolder()].map(async (cwd) => {
        copyFileSync(join(MODELS, 'resnet_tiny.onnx'), join(cwd, 'again.onnx'));
        const args = ['model', 'quantize', 'again.onnx', '--precision', 'fp8', '--json'];
        return OUTPUTS.quantize.parse(JSON.parse((await bench(args, { cwd, env })).stdout));
      }),
    );
    expect(hashes.map(({ how }) => how)).toEqual(['made', 'made']);
    expect(new Set(hashes.map(({ sha256 }) => sha256)).size).toBe(1);
  });
});

test('a sweep that was interrupted does not try a failed conversion again', async () => {
  const folder = temporaryFolder();
  const journal = join(folder, 'journal.txt');
  writeMatrix(folder, ['vit'], 'axes: {precision: [fp32, fp8], batch: 1}');
  const env = (rules: object) => ({ BENCH_PYTHON: STUB_PYTHON, STUB_PYTHON: JSON.stringify({ journal, ...rules }) });
  const rules = { case: 'err_calib_nan' };
  const ran = await bench(['run', 'm.yaml', '--trtexec', STUB, '--no-telemetry'], { cwd: folder, env: env(rules) });
  expect([ran.code, ran.stdout.includes('no engine: ')]).toEqual([4, true]);
  expect(ran.stderr).toContain('variant vit fp8: it ended with: ValueError: Too many bins');
  change(join(folder, 'bench.sqlite'), `UPDATE sweeps SET state = 'interrupted'`);
  expect((await bench(['run', '--resume'], { cwd: folder, env: env(rules) })).stderr).not.toContain('variant vit fp8');
  expect(readFileSync(journal, 'utf8').trimEnd().split('\n')).toHaveLength(1);
});

test('a Python without ModelOpt ends a sweep before anything runs, and one without variants needs none', async () => {
  const folder = temporaryFolder();
  writeMatrix(folder, ['vit'], 'axes: {precision: [fp32, fp8], batch: 1}');
  const env = { BENCH_PYTHON: join(folder, 'none') };
  const args = ['run', 'm.yaml', '--trtexec', STUB, '--no-telemetry'];
  const without = await bench(args, { cwd: folder, env });
  expect(without.code).toBe(3);
  expect(without.stderr).toContain('variants are made by a Python with ModelOpt: install it');
  expect(existsSync(join(folder, 'bench.sqlite'))).toBe(false);
  expect((await bench([...args, '--filter', 'precision=fp32'], { cwd: folder, env })).code).toBe(0);
});

test('recordings are answered, and nothing is converted', async () => {
  const folder = temporaryFolder();
  writeMatrix(folder, ['vit'], 'axes: {precision: fp8, batch: 1}');
  const text =
    'bench: m.yaml:2:3: vit fp8: recordings are answered, and nothing is converted: name the file that was recorded (precisions: {fp8: {onnx: FILE}})\n';
  expect(await bench(['run', 'm.yaml', '--replay', 'night1'], { cwd: folder })).toEqual(refusal(text));
});
