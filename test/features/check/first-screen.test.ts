import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, temporaryFolder, sharedFolder, benchProcess, ROOT, temporaryStore } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { STUB } from '../../support/stub.ts';
import { batchMatrix } from '../../support/trouble.ts';
import { dumpTables } from '../../support/store-dump.ts';

const SWEEPS = 23;
const FROM = 18;

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
  const worst = ['six · main: 6 cells slower: 6 new', 'one · main: 1 cell slower: 1 new'];
  expect(lines.slice(0, 5)).toEqual([...worst, 'calm · main: nothing slower', '', 'six · main']);
  const { stdout: markdown } = await bench(['report', '--md', '-'], { cwd, env });
  expect(markdown.split('\n')[0]).toBe(`### ▲ ${worst.join('; ')}`);
  expect(lines.filter((line) => line.startsWith('▲ ')).map((line) => line.replace(/ [0-9a-f]{8} /, ' '))).toEqual([
    expect.stringMatching(/^▲ 6 slower {3}0 faster {3}6 same/),
    expect.stringMatching(/^▲ 6 of 12 cells slower by 5\.\d to 6\.\d %: all fp8, since 2026-01-19$/),
  ]);
  expect(lines.at(-2)).toBe('all details: bench check --all');
  expect((await bench(['check', '--all'], { cwd, env })).stdout.match(/^ {2}next: bench why/gm)).toHaveLength(2);
}, 60_000);

test('below a finding in several metrics: how many of its cells the table lacks, and where they are', async () => {
  const { folder: cwd, db } = temporaryStore();
  const normal = normals(4);
  const isOff = (night: number): boolean => night >= FROM;
  simulateNights(db, {
    cells: simulatedCells(6),
    repeats: 3,
    nights: SWEEPS,
    value: (cell, night) => (isOff(night) && cell % 2 === 1 ? 1.06 : 1) * Math.exp(0.003 * normal()),
    figures: (cell, night) => (cell % 2 === 0 ? { qps: (isOff(night) ? 900 : 1000) * Math.exp(0.003 * normal()) } : {}),
  });
  const { stdout } = await bench(['check'], { cwd });
  expect(stdout).toMatch(
    /6 cells slower: throughput .*\n(?:.*\n)*(?: +vit +fp16 .* qps +-.*\n){3}.*\n  and 3 more: bench show [0-9a-f]{8}\n/,
  );
});

test('twelve of many unclear cells are explained', async () => {
  const { folder: cwd, db } = temporaryStore();
  const normal = normals(5);
  simulateNights(db, { cells: simulatedCells(40), nights: 2, repeats: 1, value: () => Math.exp(0.2 * normal()) });
  const { stdout } = await bench(['check'], { cwd });
  expect(stdout).toMatch(
    /^37 cells unclear: .*\n(?: {2}vit .*: (?:detectable from \d{3} %|1 of 1 .*)\n){12} {2}and 25 more\n/m,
  );
});

test('an open finding: since which commit, and what to type; check and trend give it the same size', async () => {
  const { folder: cwd, db } = temporaryStore();
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
    /▲ [0-9a-f]{8} vit fp8 4x3x224x224 graph slower by ([56]\.\d %), since 2026-01-19 open in GPU compute time: 6 sweeps/.exec(
      stdout.replaceAll(/\s+/g, ' '),
    ) ?? [];
  const text = `first bad ${FROM.toString(16).repeat(4)}, last good ${(FROM - 1).toString(16).repeat(4)} also:`;
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(text);
  expect(stdout).toMatch(/^ {2}next: bench why [0-9a-f]{8} · bench compare/m);
  expect(stdout).toMatch(/bench ack [0-9a-f]{8} --reason "…"$/m);
  const row = new RegExp(String.raw`^vit +fp8 +b4 +0\.8\d+ ms +\+${size} `, 'm');
  expect(stdout).toMatch(row);
  expect(await bench(['trend'], { cwd })).toMatchObject({ stdout: expect.stringMatching(row) });
  const { stdout: chart } = await bench(['trend', 'batch=4'], { cwd });
  expect(chart).toMatch(new RegExp(String.raw`^slower: \+${size} from 0\.8\d+ ms, now 0\.8\d+ ms$`, 'm'));
  expect(chart.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(String.raw`S 19 Jan slower \+${size}, finding [0-9a-f]{8}: open`),
  );
}, 60_000);

const BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

test('a filtered run adds to its cell, and the others keep their newest values in every output', async () => {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, BATCHES, ['repeats: 1']);
  const run = (...args: string[]) =>
    bench(['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry', ...args], { cwd: folder });
  const checked = async () => await jsonOf(OUTPUTS.check, ['check', '--db', db], { cwd: folder });
  for (let night = 0; night < 3; night += 1) await run();
  const [before] = (await checked()).series;
  await run('--filter', 'batch=3');
  const [after] = (await checked()).series;
  expect([after?.cells?.length, after?.cells.map(({ reason }) => reason)]).toEqual([12, BATCHES.map(() => null)]);
  expect(after?.cells.map(({ now }) => now)).toEqual(before?.cells.map(({ now }) => now));
  // Its interval has one more sweep of one cell in it.
  const ciPercent: unknown = before?.geometricMean?.ciPercent?.map((end) => expect.closeTo(end, 2));
  expect(after?.geometricMean).toEqual({ ...before?.geometricMean, ciPercent });
  expect(after?.notes).toEqual(['11 cells left out of this sweep: bench uses their newest values']);
  expect((await bench(['check', '--db', db], { cwd: folder })).stdout).not.toContain('missing');
  const compared = await jsonOf(OUTPUTS.compare, ['compare', '--db', db], { cwd: folder });
  expect(compared.counts).toMatchObject({ same: 12, missing: 0 });
  const trend = await jsonOf(OUTPUTS.trend, ['trend', '--db', db], { cwd: folder });
  expect(trend.cells.map(({ verdict }) => verdict)).toEqual(BATCHES.map(() => 'same'));
  const report = await jsonOf(OUTPUTS.report, ['report', '--junit', 'out.xml', '--db', db], { cwd: folder });
  expect(report.counts).toEqual({ same: 12 });
});

const BETWEEN_SWEEPS = 14;
/** From this night on the second cell waits for its copies, in the same time. */
const TURNED = 12;

describe('a cell that turned from its compute to its copies', () => {
  const folder = sharedFolder();
  const db = join(folder, 'bench.sqlite');

  async function said(...args: string[]): Promise<string> {
    const expected = args[0] === 'check' || args[0] === 'report' ? 1 : 0;
    const { code, stderr, stdout } = await bench([...args, '--db', db], { cwd: folder, env: { COLUMNS: '160' } });
    // The page says what `check` says, and ends as it does.
    expect([args, code, code === expected ? '' : stderr]).toEqual([args, expected, '']);
    return stdout;
  }

  beforeAll(() => {
    simulateNights(db, {
      cells: simulatedCells(3),
      nights: BETWEEN_SWEEPS,
      repeats: 3,
      branch: 'main',
      value: (cell, night, repeat) => 1 + cell + ((night * 7 + repeat * 3) % 5) * 1e-4,
      figures: (cell, night) => ({ boundBy: cell === 1 && night >= TURNED ? 'h2d' : 'compute' }),
    });
  });

  test('is a finding of the second sweep', async () => {
    const { findings } = OUTPUTS.check.parse(JSON.parse(await said('check', '--json')));
    const metrics = [{ metric: 'h2dBoundPercent', before: 0, after: 100 }];
    expect(findings).toMatchObject([{ direction: 'slower', labels: ['vit fp8 2x3x224x224 graph'], metrics }]);
    expect(await said('check')).toContain('H2D-bound runs');
  });

  test('is said in the comparison, over time, of both sides, on the page and by filters', async () => {
    const turned = 'now bound by copies to the GPU (H2D), before by GPU compute';
    const sweeps: { readonly sweepId: string }[] = JSON.parse(await said('ls', 'sweeps', '--json')).sweeps;
    const [after = '', before = ''] = [sweeps[0], sweeps[2]].map((sweep) => sweep?.sweepId.slice(0, 8));
    const { cells } = OUTPUTS.compare.parse(JSON.parse(await said('compare', before, after, '--json')));
    const expected = [false, true, false];
    expect(cells.map(({ reasons }) => reasons.some((reason) => reason.startsWith(turned)))).toEqual(expected);
    expect(await said('trend', 'b2')).toContain('bound by copies to the GPU (H2D), before by GPU compute');
    expect(await said('trend', 'b1')).not.toContain('bound by');
    const why = await said('why', 'b2', before, after);
    expect(why).toMatch(/base .* bound by GPU compute\nhead .* bound by copies to the GPU \(H2D\)/);
    expect(await said('show', 'latest')).toMatch(/fp8 +b2 .* h2d /);
    const text = '"label": "vit fp8 2x3x224x224 graph"';
    expect(await said('ls', 'cells', '--filter', 'bound=h2d', '--json')).toContain(text);
    const page = await said('report', '--html', '-');
    expect(page).toContain('<td class="roomy">h2d</td>');
    expect(page).toContain('bound by copies to the GPU (H2D), before by GPU compute');
  });
});

/** What the gate stored, without the time. */
function stored(db: string): unknown {
  const { acknowledgements, findings, finding_cells, judged_sweeps } = dumpTables(db, { judged_sweeps: ['judged_at'] });
  return { acknowledgements, findings, finding_cells, judged_sweeps };
}

function findingsOf(db: string): unknown {
  const artefacts = join(dirname(db), 'artefacts');
  return readdirSync(artefacts)
    .toSorted()
    .map((name) => join(artefacts, name, 'findings.json'))
    .map((path) => existsSync(path) && readFileSync(path, 'utf8').replaceAll(/"judgedAt": "[^"]*"/g, ''));
}

test('what a SIGKILL before any write of a check leaves: the next one says and stores the same', async () => {
  const folder = temporaryFolder();
  simulateNights(join(folder, 'bench.sqlite'), {
    cells: simulatedCells(4),
    nights: 3,
    repeats: 2,
    value: (cell, night, repeat) => (1 + cell) * (night < 2 ? 1 : 1.08) * (1 + 0.001 * ((night * 7 + repeat) % 5)),
  });
  for (const night of [0, 1, 2]) mkdirSync(join(folder, 'artefacts', sweepOfNight(night)), { recursive: true });
  const ofAll = async (of: string) => [(await bench(['check', '--db', of])).stdout, stored(of), findingsOf(of)];
  const [cut, COPIES] = [temporaryFolder(), temporaryFolder()];
  cpSync(folder, cut, { recursive: true });
  const whole = await ofAll(join(folder, 'bench.sqlite'));
  const NODE_OPTIONS = `--import=${pathToFileURL(join(ROOT, 'test', 'support', 'copies-at-write.mjs')).href}`;
  await benchProcess(['check', '--db', join(cut, 'bench.sqlite')], { env: { NODE_OPTIONS, COPIED: cut, COPIES } });
  const moments = [...readdirSync(COPIES).map((moment) => join(COPIES, moment)), cut];
  for (const moment of moments) {
    expect([moment, await ofAll(join(moment, 'bench.sqlite'))]).toEqual([moment, whole]);
  }
  expect(moments.length).toBeGreaterThan(3);
}, 120_000);
