import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';

const MATRIX = join(ROOT, 'matrices', 'quickstart-pair.yaml');

async function measure(cwd: string) {
  const asked = ['--matrix', MATRIX, '--filter', 'vit_small b8', '--json'];
  const { code, stdout } = await bench(['doctor', '--measure', ...asked], { cwd });
  return { code, output: OUTPUTS.doctor.parse(JSON.parse(stdout)) };
}

test('--measure compares with the past of the machine; no history counts it', async () => {
  const cwd = temporaryFolder();
  for (const known of [0, 1, 2]) {
    const { code, output } = await measure(cwd);
    expect([code, output.measured]).toMatchObject([0, { against: null, standing: null, known }]);
  }
  const again = await measure(cwd);
  expect(again.code).toBe(0);
  const same = { against: 'itself', known: 3, changePercent: 0, standing: 'as before' };
  expect(again.output.measured).toMatchObject(same);
  expect(again.output.checks.at(-1)).toMatchObject({ id: 'reference.speed', state: 'ok' });
  const checked = await bench(['check'], { cwd });
  expect([checked.code, checked.stderr]).toEqual([2, expect.stringContaining('no sweep of a branch is stored')]);

  // The earlier ones were faster.
  const db = new Database(join(cwd, 'bench.sqlite'));
  db.exec('UPDATE time_statistics SET median_ms = median_ms / 1.05');
  db.close();
  const { code, output } = await measure(cwd);
  expect(code).toBe(1);
  expect(output.measured).toMatchObject({ against: 'itself', known: 4, standing: 'slower' });
  expect(output.measured?.changePercent).toBeCloseTo(5, 6);
  expect(output.measured?.cells).toHaveLength(1);
  expect(output.checks.at(-1)).toMatchObject({
    state: 'warning',
    evidence: expect.stringMatching(
      /^0\.4\d+ ms, \+5\.0 % against 4 earlier sweeps of this machine: slower than they differ by$/,
    ),
  });
});

test('--filter without cells to choose from is one clear line', async () => {
  const { code, stderr } = await bench(['doctor', '--measure', '--filter', 'vit']);
  expect([code, stderr]).toEqual([2, 'bench: --filter chooses cells for --measure of --matrix FILE: name both\n']);
});

test('the reference of bench can be planned for every TensorRT, and its model has its inputs', async () => {
  const matrix = join(ROOT, 'matrices', 'reference.yaml');
  for (const version of ['8.6', '10.6', '11.0']) {
    const { code, stdout } = await bench(['plan', matrix, '--tensorrt', version]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('1 cell · 5 runs + 1 build')]);
  }
  const { stdout } = await bench(['model', 'inspect', join(ROOT, 'matrices', 'reference.onnx'), '--json']);
  expect(OUTPUTS.inspect.parse(JSON.parse(stdout)).inputs).toMatchObject([{ name: 'x', shape: ['batch', 2048] }]);
});
