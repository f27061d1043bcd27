import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { openStore } from '../../../src/store/file/open.ts';
import { bench, ROOT, sharedFolder, refusal, temporaryStore } from '../../support/bench.ts';
import { pageDataIn, sectionOf } from '../../support/page-data.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { change, queryStore } from '../../support/store-dump.ts';

const QUICKSTART = join(ROOT, 'matrices', 'quickstart.yaml');

describe('bench report --html', () => {
  const cwd = sharedFolder();
  const db = join(cwd, 'bench.sqlite');

  beforeAll(async () => {
    const { code, stderr } = await bench(['run', QUICKSTART, '--filter', 'model=vit_small & batch=8', '--db', db], {
      cwd,
    });
    if (code !== 0) throw new Error(stderr);
    openStore(join(cwd, 'empty.sqlite'), join(ROOT, 'migrations')).close();
  });

  const report = (...args: string[]) => bench(['report', ...args, '--db', db], { cwd });

  test('writes one file and says what is in it; the same store gives the same bytes', async () => {
    const written = await report('--html', 'r.html');
    expect(written).toMatchObject({ code: 0, stderr: '' });
    expect(written.stdout).toMatch(/^r\.html: 4 cells, 1 sweep, recorded, \d+(\.\d)? KiB\n$/);
    const html = readFileSync(join(cwd, 'r.html'), 'utf8');
    const printed = await report('--html');
    expect([printed.code, printed.stdout === html]).toEqual([0, true]);
    expect([...html.matchAll(/\b(?:src|href)="(?!#)[^"]{0,40}/g)]).toEqual([]);
  });

  test('what is in the store is told, and nothing of it changes', async () => {
    const nights = join(cwd, 'nights.sqlite');
    const normal = normals(3);
    const value = (cell: number, night: number): number =>
      (1 + cell) * (1 + 0.001 * normal()) * (night >= 36 ? 1.2 : 1);
    simulateNights(nights, { cells: simulatedCells(2), nights: 40, repeats: 3, value });
    const before = queryStore(nights, 'select count(*) as n from findings');
    const { stdout } = await bench(['report', '--html', '--db', nights], { cwd });
    expect(queryStore(nights, 'select count(*) as n from findings')).toEqual(before);
    const pattern = /<span class="slower">2 cells slower<\/span> by [\d.]+( to [\d.]+)?\u00a0%</;
    expect(sectionOf(stdout, 'overview')).toMatch(pattern);
    const data = pageDataIn(stdout);
    expect(data.sweeps).toHaveLength(40);
    const slower = data.cells.flatMap(({ marks }) => marks.filter(({ kind }) => kind === 'slower'));
    expect(slower.map(({ step }) => step)).toEqual([36, 36]);
    const shorter = await bench(['report', '--html', '--last', '10', '--db', nights], { cwd });
    expect(pageDataIn(shorter.stdout).sweeps).toHaveLength(10);
    expect(shorter.stdout.split('<nav')[0]).toContain('30 older sweeps of this series');
    const earlier = await bench(['report', '--html', '--as-of', '2026-01-10', '--db', nights], { cwd });
    expect(pageDataIn(earlier.stdout).sweeps.at(-1)?.start).toBe('2026-01-10 02:00');
  });

  test('of two sides the page is of the series and the time of HEAD, and compares it with BASE', async () => {
    const nights = join(cwd, 'sides.sqlite');
    const cells = simulatedCells(2);
    const value = (_cell: number, night: number): number => (night < 3 ? 1 : 1.3);
    simulateNights(nights, { cells, nights: 8, repeats: 3, value });
    const [base, head] = [sweepOfNight(1), sweepOfNight(5)];
    const { stdout } = await bench(['report', base, head, '--html', '--db', nights], { cwd });
    expect([pageDataIn(stdout).sweeps.at(-1)?.id, pageDataIn(stdout).sweeps.length]).toEqual([head.slice(0, 12), 6]);
    const overview = sectionOf(stdout, 'overview');
    expect(overview).toContain('<span class="slower">2 of 2 cells slower</span> by 30.0 %');
    expect(overview).toContain('<b>a0000500</b> against <b>a0000100</b>');
    expect(overview).toContain('<code>bench compare a0000100 a0000500</code>');
    expect(overview).toContain('<b class="slower">2</b> <span>slower</span>');
    expect(sectionOf(stdout, 'cells')).toContain(`worst first: verdict and change against ${base.slice(0, 8)}`);
    expect(sectionOf(stdout, 'cells')).toMatch(/slower<\/td>.*<td class="number change">\+30\.0 %<\/td>/);
    expect(sectionOf(stdout, 'findings')).toContain('In all sweeps up to a0000500: ');
  });

  test('baselines, runs that do not count, and samples that cannot be read are named', async () => {
    const nights = join(cwd, 'marked.sqlite');
    const cells = simulatedCells(1);
    const excluded = { id: 'contended', effect: 'excluded', value: null, evidence: 'test' } as const;
    simulateNights(nights, {
      cells,
      nights: 4,
      repeats: 2,
      value: () => 1,
      flags: (_cell, night, repeat) => (night === 2 && repeat === 1 ? [excluded] : []),
    });
    expect((await bench(['baseline', 'set', 'v1', sweepOfNight(1), '--db', nights], { cwd })).code).toBe(0);
    change(
      nights,
      `insert into samples select run_id, 1, x'00' from runs where sweep_id = '${sweepOfNight(3)}' and repeat = 1`,
    );
    const { code, stdout, stderr } = await bench(['report', '--html', '--db', nights], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    const {
      cells: [cell],
    } = pageDataIn(stdout);
    expect(cell?.marks).toEqual([{ step: 1, kind: 'baseline', text: 'v1', breaksLine: false }]);
    expect(cell?.leftOut).toEqual([{ sweep: 2, reason: 'contended' }]);
    expect(cell?.runs).toEqual([2, 2, 1, 2]);
    expect(cell?.samples).toEqual({ sweep: 3, before: 2, histogram: null });
  });

  test('the lines of all cells are on one scale around the reference of each', async () => {
    const lines = join(cwd, 'lines.sqlite');
    const value = (cell: number, night: number): number =>
      cell === 2 && night === 5 ? 15 : (1 + cell) * (1 + ([0.01, 0.005][cell] ?? 0) * (night % 2 === 0 ? -1 : 1));
    simulateNights(lines, { cells: simulatedCells(3), nights: 8, repeats: 1, value });
    const cellsOf = sectionOf((await bench(['report', '--html', '--db', lines], { cwd })).stdout, 'cells');
    expect(cellsOf).toContain('>last 8 sweeps, ±2 %</th>');
    const rows = [...cellsOf.matchAll(/<span aria-hidden="true">(.*?)<\/span>/g)].map(([, line]) => line);
    expect(rows.toSorted()).toEqual(['▃▅▃▅▃▅▃▅', '▃▆▃▆▃▆▃▆', '▄▄▄▄▄!▄▄']);
  });

  test('views without anything to show are not there, nor are links to them', async () => {
    const plain = join(cwd, 'plain.sqlite');
    simulateNights(plain, { cells: simulatedCells(1), nights: 1, repeats: 1, value: () => null });
    const { code, stdout } = await bench(['report', '--html', '--db', plain], { cwd });
    expect(code).toBe(4);
    const overview = sectionOf(stdout, 'overview');
    expect(overview).toContain('This is the first sweep of this matrix and branch.');
    expect(overview).toContain('First sweep: nothing to compare with; 1 cell without a result</span>');
    expect(sectionOf(stdout, 'findings')).toContain('Without a result in the newest sweep');
    const [, nav = ''] = /<nav[^>]*>(.*?)<\/nav>/s.exec(stdout) ?? [];
    expect(nav.match(/#\w+/g)).toEqual(['#findings', '#cells', '#matrix']);
    expect([sectionOf(stdout, 'pareto'), sectionOf(stdout, 'environment')]).toEqual(['', '']);
  });

  test.each([
    ['no cell of these sweeps matches', ['report', '--html', '--filter', 'model=nope']],
    ['there was no sweep at that time', ['report', '--html', '--as-of', '1999-01-01']],
    ['must be from 0 to 65535', ['serve', '--port', '65536']],
    ['no cell of these sweeps matches', ['serve', '--port', '0', '--filter', 'model=nope']],
  ])('wrong use is one line: %s', async (message, args) => {
    expect(await bench([...args, '--db', db], { cwd })).toEqual(refusal(message));
  });
});

test('the first screen claims nothing of cells that were not compared', async () => {
  const { folder: cwd, db } = temporaryStore();
  const simulate = (cells: number, after: number) =>
    simulateNights(db, { cells: simulatedCells(cells), nights: 1, after, repeats: 1, value: (cell) => 1 + cell });
  const firstScreen = async (...args: string[]): Promise<string> => {
    await bench(['report', ...args, '--html', 'page.html', '--db', db], { cwd });
    const [screen = ''] = /<h1[^]*?<\/ul>/.exec(readFileSync(join(cwd, 'page.html'), 'utf8')) ?? [];
    return screen.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
  };
  simulate(2, 0);
  const first = await firstScreen();
  expect(first).toContain('First sweep: nothing to compare with');
  expect(first).toContain('0 slower0 faster0 same2 new');
  simulate(9, 1);
  expect(await firstScreen('latest~1', 'latest')).toContain('0 slower, 0 faster, 2 unclear, 7 no result');
  await bench(['report', sweepOfNight(0), sweepOfNight(1), '--html', 'page.html', '--db', db], { cwd });
  const page = readFileSync(join(cwd, 'page.html'), 'utf8');
  expect(page).toContain(`change against ${sweepOfNight(0).slice(0, 8)};`);
  expect(page).not.toMatch(/one run per side[^<]*one run per side/);
});
