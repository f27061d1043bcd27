import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

const SWEEPS = 60;
const FROM = 55;

test('several series: a line for each, the worst first, then that one in full', async () => {
  const cwd = temporaryFolder();
  for (const [number, name] of ['calm', 'one', 'six'].entries()) {
    const normal = normals(number);
    simulateNights(join(cwd, 'bench.sqlite'), {
      cells: simulatedCells(12),
      nights: SWEEPS,
      repeats: 3,
      branch: 'main',
      matrix: { name, number },
      value: (cell, night) => {
        const isSlower = night >= FROM && (name === 'one' ? cell === 1 : name === 'six' && cell % 2 === 1);
        return (0.5 + 0.1 * cell) * (isSlower ? 1.06 : 1) * Math.exp(0.003 * normal());
      },
    });
  }
  const env = { ...process.env, COLUMNS: '80' };
  const { code, stdout } = await bench(['check'], { cwd, env });
  const lines = stdout.split('\n');
  expect(code).toBe(1);
  expect(lines.slice(0, 5)).toEqual([
    'six · main: 6 cells slower: 6 new',
    'one · main: 1 cell slower: 1 new',
    'calm · main: nothing slower',
    '',
    'six · main',
  ]);
  expect(lines.filter((line) => line.startsWith('▲ ')).map((line) => line.replace(/ [0-9a-f]{8} /, ' '))).toEqual([
    expect.stringMatching(/^▲ 6 slower {3}0 faster {3}6 same/),
    expect.stringMatching(/^▲ 6 of 12 cells slower by 5\.\d to 6\.\d %: all fp8, since 2026-02-25$/),
  ]);
  expect(lines.at(-2)).toBe('each in full: bench check --all');
  const all = await bench(['check', '--all'], { cwd, env });
  expect(all.stdout.match(/^ {2}next: bench why/gm)).toHaveLength(2);
}, 60_000);

test('an open finding: since which commit, and what to type; check and trend give it the same size', async () => {
  const cwd = temporaryFolder();
  const db = join(cwd, 'bench.sqlite');
  const normal = normals(3);
  const story = {
    cells: simulatedCells(6),
    repeats: 3,
    branch: 'main',
    commit: (night: number) => night.toString(16).padStart(2, '0').repeat(20),
    value: (cell: number, night: number) =>
      (0.5 + 0.1 * cell) * (cell === 3 && night >= FROM ? 1.06 : 1) * Math.exp(0.003 * normal()),
  };
  simulateNights(db, { ...story, nights: SWEEPS });
  expect((await bench(['check'], { cwd })).code).toBe(1);
  simulateNights(db, { ...story, nights: 1, after: SWEEPS });
  const { code, stdout } = await bench(['check'], { cwd, env: { ...process.env, COLUMNS: '80' } });
  expect([code, stdout.split('\n')[0]]).toEqual([1, '1 cell slower: 1 open']);
  const [, size = ''] =
    /▲ [0-9a-f]{8} vit fp8 4x3x224x224 graph slower by ([56]\.\d %), since 2026-02-25 open in GPU compute time: 6 sweeps/.exec(
      stdout.replaceAll(/\s+/g, ' '),
    ) ?? [];
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `first bad ${FROM.toString(16).repeat(4)}, last good ${(FROM - 1).toString(16).repeat(4)} also:`,
  );
  expect(stdout).toMatch(/^ {2}next: bench why [0-9a-f]{8} · bench compare/m);
  expect(stdout).toMatch(/bench ack [0-9a-f]{8} --reason "…"$/m);
  const row = new RegExp(String.raw`^vit +fp8 +b4 +0\.8\d+ ms +\+${size} `, 'm');
  expect(stdout).toMatch(row);
  const { stdout: rows } = await bench(['trend'], { cwd });
  expect(rows).toMatch(row);
  const { stdout: chart } = await bench(['trend', 'batch=4'], { cwd });
  expect(chart).toMatch(new RegExp(String.raw`^slower: \+${size} from 0\.8\d+ ms, newest sweep 0\.8\d+ ms$`, 'm'));
  expect(chart.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(String.raw`S 25 Feb slower \+${size}, finding [0-9a-f]{8}: open`),
  );
}, 60_000);
