import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

const LAYERS = ['conv1', 'conv2', 'conv3'];

/**
 * Ten cells under TensorRT 10.6 and 10.16, six runs each: eight are 4 % faster, one is 10 % slower, of one no run
 * works. The engine of cell 0 has another kernel, that of cell 1 another accuracy.
 */
function simulateUpgrade(path: string, repeats = 6): void {
  const normal = normals(3);
  const factorOf = (cell: number): number => (cell === 8 ? 1.1 : 0.96);
  simulateNights(path, {
    cells: simulatedCells(10),
    nights: 2,
    repeats,
    machine: (night) => ({ tensorrt: night === 0 ? '10.6.0' : '10.16.1' }),
    value: (cell, night) =>
      cell === 9 && night === 1 ? null : (1 + cell) * (night === 0 ? 1 : factorOf(cell)) * (1 + 1e-3 * normal()),
    engine: (cell, night) => ({
      buildId: `${cell}${night}`.padStart(32, 'd'),
      engineMib: night === 0 ? 100 : 110,
      sqnrDb: cell === 1 && night === 1 ? 24 : 30,
      layers: LAYERS.map((name, place) => ({
        name: cell === 0 && night === 1 && place === 0 ? 'conv1_other' : name,
        ms: 0.1,
        origins: [`/net/${name}`],
      })),
    }),
  });
}

describe('bench report --upgrade', () => {
  let cwd: string;
  const upgrade = (...args: string[]) =>
    bench(['report', '--upgrade', ...args, '--db', join(cwd, 'bench.sqlite')], { cwd, env: { COLUMNS: '120' } });

  beforeAll(() => {
    cwd = sharedFolder();
    simulateUpgrade(join(cwd, 'bench.sqlite'));
  });

  test('two versions of TensorRT: the comparison, and what speaks against an upgrade', async () => {
    const { code, stdout } = await upgrade('trt=10.6', 'trt=10.16', '--json');
    expect(code).toBe(1);
    const { against, ...found } = OUTPUTS.upgrade.parse(JSON.parse(stdout));
    const lessAccurate = found.cells.find(({ label }) => label.startsWith('vit fp8 2x3'))?.label ?? '';
    expect(against).toEqual([
      '1 cell that ran before: no result',
      `accuracy fell in ${lessAccurate} 30.0 dB → 24.0 dB`,
      '1 slower cell',
    ]);
    expect(found.counts).toMatchObject({ faster: 8, slower: 1, failed: 1 });
    const args = ['trt=10.6', 'trt=10.16', '--across-tensorrt', '--json', '--db', join(cwd, 'bench.sqlite')];
    const compared = await bench(['compare', ...args]);
    expect(found).toEqual(OUTPUTS.compare.parse(JSON.parse(compared.stdout)));
  });

  test('in the terminal, as Markdown and on the page', async () => {
    const { stdout } = await upgrade('trt=10.6', 'trt=10.16');
    expect(stdout).toMatch(/^against an upgrade: 1 cell that ran before: no result, accuracy fell in vit/);
    const { stdout: md } = await upgrade('trt=10.6', 'trt=10.16', '--md');
    expect(md).toMatch(/^\*\*against an upgrade: 1 cell that ran before: no result/);
    expect(md).toContain('vit fp16 9x3x224x224');
    await upgrade('trt=10.6', 'trt=10.16', '--html', 'u.html');
    expect(readFileSync(join(cwd, 'u.html'), 'utf8')).toContain('1 of 10 cells slower by 10.0');
  });

  test('a move back: what failed there works, and is not held against it', async () => {
    const { stdout } = await upgrade('trt=10.16', 'trt=10.6', '--json');
    const { against, counts } = OUTPUTS.upgrade.parse(JSON.parse(stdout));
    expect([against, counts.slower, counts.faster]).toEqual([[expect.stringMatching(/slower cell/)], 8, 1]);
  });

  test.each([
    [['trt=10.6'], '--upgrade takes two sides'],
    [['trt=10.6', 'trt=10.1'], 'trt=10.1: no finished sweep was measured there'],
    [['trt=10.6', 'trt=10.16', '--junit'], '--junit is not for --upgrade'],
  ])('%j is one clear line', async (args, line) => {
    const { code, stderr } = await upgrade(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^bench: [^\n]*\n$/);
    expect(stderr).toContain(line);
  });

  test('driver= and gpu= choose as well, by a part of the name and whole numbers of a version', async () => {
    const { stdout, code } = await upgrade('trt=10.6,driver=580,gpu=simulated', 'latest', '--json');
    expect([code, OUTPUTS.upgrade.parse(JSON.parse(stdout)).counts.slower]).toEqual([1, 1]);
    expect((await upgrade('driver=58', 'latest')).code).toBe(2);
  });
});
