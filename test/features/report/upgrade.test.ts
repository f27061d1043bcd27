import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { headlineOf } from '../../../src/features/report/upgrade/headline.ts';
import { answerText } from '../../../src/features/report/upgrade/text.ts';
import { bench, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

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

  test('two versions of TensorRT: counts, mean, accuracy, layers and sizes, and what speaks against moving', async () => {
    const { code, stdout } = await upgrade('trt=10.6', 'trt=10.16', '--json');
    expect(code).toBe(1);
    const found = OUTPUTS.upgrade.parse(JSON.parse(stdout));
    expect(found.headline).toBe(
      'TensorRT 10.16.1 against 10.6.0: geometric mean 1.03× faster (1.02–1.03), 8 of 10 cells faster, 1 slower, 1 without a result, accuracy moved in 1',
    );
    expect(found.against).toEqual(['1 cell that ran before: no result', 'accuracy fell in 1 cell', '1 slower cell']);
    expect(found.changed).toEqual(['TensorRT 10.6.0 → 10.16.1']);
    expect(found.counts).toMatchObject({
      cells: 10,
      faster: 8,
      slower: 1,
      runFailed: 1,
      layersChanged: 1,
      modelChanged: 9,
    });
    // Of nine cells: (0.96^8 x 1.1)^(1/9).
    expect(found.geometricMeans[0]?.changePercent).toBeCloseTo((0.96 ** (8 / 9) * 1.1 ** (1 / 9) - 1) * 100, 0);
    expect(
      found.groups.map(({ precision, cells, faster, slower, runFailed, engineMib }) => [
        precision,
        cells,
        faster,
        slower,
        runFailed,
        engineMib,
      ]),
    ).toEqual([
      ['fp16', 5, 4, 1, 0, [100, 110]],
      ['fp8', 5, 4, 0, 1, [100, 110]],
    ]);
    const [failed, lessAccurate, slower] = found.cells;
    expect(failed?.problem).toEqual({ side: 'head', kind: 'run', reason: 'outOfMemory' });
    expect(lessAccurate?.accuracy).toEqual({ sqnrDb: [30, 24], moved: 'worse' });
    expect(slower?.changePercent).toBeCloseTo(10, 0);
    expect(
      found.cells.filter(({ layers }) => layers !== null && layers.changed > 0).map(({ layers }) => layers),
    ).toEqual([{ changed: 1, of: 3 }]);
  });

  test('its verdicts are those of bench compare', async () => {
    const { stdout } = await upgrade('trt=10.6', 'trt=10.16', '--json');
    const compared = await bench(['compare', 'trt=10.6', 'trt=10.16', '--json', '--db', join(cwd, 'bench.sqlite')]);
    const rowOf = ({
      key,
      verdict,
      changePercent,
      ciPercent,
    }: {
      key: string;
      verdict: string;
      changePercent: number | null;
      ciPercent: readonly number[] | null;
    }) => [key, verdict, changePercent, ciPercent];
    const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted();
    expect(sorted(OUTPUTS.upgrade.parse(JSON.parse(stdout)).cells.map(rowOf))).toEqual(
      sorted(OUTPUTS.compare.parse(JSON.parse(compared.stdout)).cells.map(rowOf)),
    );
  });

  test('a headline, the groups, and what to look at first: in the terminal, as Markdown and on the page', async () => {
    const { stdout } = await upgrade('trt=10.6', 'trt=10.16');
    expect(stdout).toContain(
      'against moving: 1 cell that ran before: no result, accuracy fell in 1 cell, 1 slower cell',
    );
    expect(stdout).toMatch(/^vit +fp16 +5 +1\.0\d× .* +4 +1 +1 +100\.0 → 110\.0 \(\+10\.0 %\)/m);
    expect(stdout).toMatch(/accuracy 30\.0 dB → 24\.0 dB/);
    const { stdout: md } = await upgrade('trt=10.6', 'trt=10.16', '--md');
    expect(md).toMatch(/^### TensorRT 10\.16\.1 against 10\.6\.0: geometric mean 1\.03× faster/);
    expect(md).toContain('| ▲ | vit fp16 9x3x224x224');
    await upgrade('trt=10.6', 'trt=10.16', '--html', 'u.html');
    const html = readFileSync(join(cwd, 'u.html'), 'utf8');
    expect(html).toContain('<h2 id="upgrade-title">Upgrade</h2>');
    expect(html).toContain('<a href="#upgrade">Upgrade</a>');
  });

  test('without a verdict nothing is said for the move', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    simulateUpgrade(db, 1);
    const { stdout } = await bench(['report', '--upgrade', 'trt=10.16', 'trt=10.6', '--db', db]);
    expect(stdout).toContain('\nnobody can say yet: no cell has a verdict\n');
    const { counts } = OUTPUTS.upgrade.parse(JSON.parse((await upgrade('trt=10.6', 'trt=10.16', '--json')).stdout));
    const good = { against: [], counts: { ...counts, faster: 6, same: 1, slower: 0 } };
    expect(answerText(good)).toBe('nothing measured speaks against moving, in 7 of 10 cells: the rest has no verdict');
    const apart = { ...counts, faster: 0, slower: 0, runFailed: 0, accuracyMoved: 0, incomparable: 10 };
    expect(headlineOf(apart, [], null, null, { baseRef: 'a', headRef: 'b' })).toBe(
      'b against a: no cell can be compared, 0 of 10 cells faster, 0 slower',
    );
  });

  test('a narrow terminal keeps the mean', async () => {
    const { stdout } = await bench(
      ['report', '--upgrade', 'trt=10.6', 'trt=10.16', '--db', join(cwd, 'bench.sqlite')],
      { env: { COLUMNS: '40' } },
    );
    expect(stdout).toMatch(/^vit +fp16 +1\.0\d× faster/m);
    expect(stdout.split('\n').filter((line) => [...line].length > 40)).toEqual([]);
  });

  test('a move back: what failed there works, and is not held against it', async () => {
    const { stdout } = await upgrade('trt=10.16', 'trt=10.6', '--json');
    const { counts } = OUTPUTS.upgrade.parse(JSON.parse(stdout));
    expect(counts).toMatchObject({ recovered: 1, runFailed: 0, buildFailed: 0, slower: 8, faster: 1, accuracyFell: 0 });
  });

  test.each([
    [['trt=10.6'], '--upgrade takes two sides'],
    [[], '--upgrade takes two sides'],
    [['trt=10.6', 'trt=10.1'], 'trt=10.1: no finished sweep was measured there'],
    [['trt=10.6', 'trt=10.6.0'], 'both sides are sweep'],
    [['trt=10.6', 'trt=10.16', '--junit'], '--junit is not for --upgrade'],
    [['trt=10.6', 'trt=10.16', '--md', '--json'], 'only one thing can go to standard output'],
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

test('an engine that no longer builds: the cells are named, with the reason, and the exit code is 4', async () => {
  const cwd = temporaryFolder();
  const matrix = stubMatrix(cwd, ['repeats: 3']);
  const rules = JSON.stringify([{ when: '--skipInference', does: 'fails' }]);
  const run = (env: Record<string, string>) => bench(['run', matrix, '--trtexec', STUB, '-q'], { cwd, env });
  await run({ STUB_VERSION: '100600' });
  await run({ STUB_VERSION: '101600', STUB_RULES: rules });
  const { code, stdout } = await bench(['report', '--upgrade', 'trt=10.6', 'trt=10.16', '--json'], { cwd });
  const { cells, counts, headline } = OUTPUTS.upgrade.parse(JSON.parse(stdout));
  expect([code, counts.buildFailed, counts.runFailed]).toEqual([4, 2, 0]);
  expect(headline).toBe(
    'TensorRT 10.16.0 against 10.6.0: no cell has a result on both sides, 0 of 2 cells faster, 0 slower, 2 fail to build',
  );
  expect(cells.map(({ problem }) => [problem?.side, problem?.kind, problem?.reason.split(':')[0]])).toEqual([
    ['head', 'build', 'outOfMemory'],
    ['head', 'build', 'outOfMemory'],
  ]);
});
