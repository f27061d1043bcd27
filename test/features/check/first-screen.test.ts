import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, test, beforeAll, describe } from 'vitest';
import Database from 'better-sqlite3';

import { textWidth } from '../../../src/terminal/text-width.ts';
import { bench, temporaryFolder, sharedFolder, benchProcess, ROOT } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { STUB } from '../../support/stub.ts';
import { batchMatrix } from '../../support/trouble.ts';
import { readVisits, type RealRun } from '../../../benchmarks/cost/real-runs.ts';
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
  expect(lines.slice(0, 5)).toEqual([
    'six · main: 6 cells slower: 6 new',
    'one · main: 1 cell slower: 1 new',
    'calm · main: nothing slower',
    '',
    'six · main',
  ]);
  expect(lines.filter((line) => line.startsWith('▲ ')).map((line) => line.replace(/ [0-9a-f]{8} /, ' '))).toEqual([
    expect.stringMatching(/^▲ 6 slower {3}0 faster {3}6 same/),
    expect.stringMatching(/^▲ 6 of 12 cells slower by 5\.\d to 6\.\d %: all fp8, since 2026-01-19$/),
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
    /▲ [0-9a-f]{8} vit fp8 4x3x224x224 graph slower by ([56]\.\d %), since 2026-01-19 open in GPU compute time: 6 sweeps/.exec(
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
    new RegExp(String.raw`S 19 Jan slower \+${size}, finding [0-9a-f]{8}: open`),
  );
}, 60_000);

const BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

test('a filtered run adds to its cell, and the others keep their newest values in every output', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = batchMatrix(folder, BATCHES, ['repeats: 1']);
  const run = (...args: string[]) =>
    bench(['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry', ...args], { cwd: folder });
  const checked = async () => await jsonOf(OUTPUTS.check, ['check', '--db', db], { cwd: folder });
  for (let night = 0; night < 3; night += 1) await run();
  const [before] = (await checked()).series;
  await run('--filter', 'batch=3');
  const [after] = (await checked()).series;
  expect(after?.cells).toHaveLength(12);
  expect(after?.cells.map(({ reason }) => reason)).toEqual(BATCHES.map(() => null));
  expect(after?.cells.map(({ now }) => now)).toEqual(before?.cells.map(({ now }) => now));
  // Its interval has one more sweep of one cell in it.
  const ciPercent: unknown = before?.geometricMean?.ciPercent?.map((end) => expect.closeTo(end, 2));
  expect(after?.geometricMean).toEqual({ ...before?.geometricMean, ciPercent });
  expect(after?.notes).toEqual(['11 cells left out of this sweep: the newest values count']);
  const text = await bench(['check', '--db', db], { cwd: folder });
  expect(text.stdout).not.toContain('missing');
  const compared = await jsonOf(OUTPUTS.compare, ['compare', '--db', db], { cwd: folder });
  expect(compared.counts).toMatchObject({ same: 12, missing: 0 });
  const trend = await jsonOf(OUTPUTS.trend, ['trend', '--db', db], { cwd: folder });
  expect(trend.cells.map(({ verdict }) => verdict)).toEqual(BATCHES.map(() => 'same'));
  const report = await jsonOf(OUTPUTS.report, ['report', '--junit', 'out.xml', '--db', db], { cwd: folder });
  expect(report.counts).toEqual({ same: 12 });
});

const NIGHTS = 14;
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
      nights: NIGHTS,
      repeats: 3,
      branch: 'main',
      value: (cell, night, repeat) => 1 + cell + ((night * 7 + repeat * 3) % 5) * 1e-4,
      figures: (cell, night) => ({ boundBy: cell === 1 && night >= TURNED ? 'h2d' : 'compute' }),
    });
  });

  test('is a finding of the second sweep', async () => {
    const { findings } = OUTPUTS.check.parse(JSON.parse(await said('check', '--json')));
    expect(findings.map(({ direction, labels, metrics }) => ({ direction, labels, metrics }))).toEqual([
      {
        direction: 'slower',
        labels: ['vit fp8 2x3x224x224 graph'],
        metrics: [expect.objectContaining({ metric: 'h2dBoundPercent', before: 0, after: 100 })],
      },
    ]);
    expect(await said('check')).toContain('H2D-bound runs');
  });

  test('is said in the comparison, over time, of both sides, on the page and by filters', async () => {
    const turned = 'now bound by copies to the GPU (H2D), before by GPU compute';
    const sweeps: { readonly sweepId: string }[] = JSON.parse(await said('ls', 'sweeps', '--json')).sweeps;
    const [after = '', before = ''] = [sweeps[0], sweeps[2]].map((sweep) => sweep?.sweepId.slice(0, 8));
    const { cells } = OUTPUTS.compare.parse(JSON.parse(await said('compare', before, after, '--json')));
    expect(cells.map(({ reasons }) => reasons.some((reason) => reason.startsWith(turned)))).toEqual([
      false,
      true,
      false,
    ]);
    expect(await said('trend', 'b2')).toContain('bound by copies to the GPU (H2D), before by GPU compute');
    expect(await said('trend', 'b1')).not.toContain('bound by');
    const why = await said('why', 'b2', before, after);
    expect(why).toMatch(/base .* bound by GPU compute\nhead .* bound by copies to the GPU \(H2D\)/);
    expect(await said('show', 'latest')).toMatch(/fp8 +b2 .* h2d /);
    expect(await said('ls', 'cells', '--filter', 'bound=h2d', '--json')).toContain(
      '"label": "vit fp8 2x3x224x224 graph"',
    );
    const page = await said('report', '--html', '-');
    expect(page).toContain('<td class="roomy">h2d</td>');
    expect(page).toContain('bound by copies to the GPU (H2D), before by GPU compute');
  });
});

/**
 * Two sweeps of an H100 and the pairs that were measured after the second, of the cells of these batches: of a ResNet, in the
 * second with three more small layers, and of a ViT.
 * @returns the lines of `bench check`
 */
async function checkedPairs(columns: number, batches: readonly number[], models: readonly string[]) {
  const visit = readVisits().find(({ name }) => name === 'h100-slower');
  const chosen = (visit?.cells ?? []).flatMap((cell, place) =>
    batches.includes(cell.shapes['input']?.[0] ?? 0) && models.includes(cell.model)
      ? [{ cell, runs: visit?.runs[place] ?? [] }]
      : [],
  );
  const cells = chosen.map(({ cell }) => cell);
  const runsOf = (place: number, isWanted: (run: RealRun) => boolean): readonly RealRun[] =>
    (chosen[place]?.runs ?? []).filter(isWanted);
  const db = join(temporaryFolder(), 'bench.sqlite');
  const timed = (place: number, sweep: number, repeat: number): number | null =>
    runsOf(place, (run) => run.sweep === sweep && !run.isPair)[repeat - 1]?.ms ?? null;
  simulateNights(db, { cells, nights: 2, repeats: 2, value: timed });
  // The newest engine has the odd numbers.
  const paired = (place: number, repeat: number): number | null =>
    runsOf(place, ({ engine, isPair }) => isPair && engine > 0 === (repeat % 2 === 1))[(repeat - 1) >> 1]?.ms ?? null;
  simulateNights(db, { cells, nights: 1, repeats: 10, after: 2, value: (place, _, repeat) => paired(place, repeat) });
  const pairs = cells
    .filter((_, place) => paired(place, 1) !== null)
    .map(({ key }) => ({
      cellKey: key,
      metric: 'gpuComputeMs',
      lastGoodSweepId: sweepOfNight(0),
      newestBuildId: 'newest',
      lastGoodBuildId: 'last good',
      isUnsteady: false,
      problem: null,
    }));
  const store = new Database(db);
  const [second, third] = [sweepOfNight(1), sweepOfNight(2)];
  store.prepare("UPDATE runs SET sweep_id = ?, role = 'pair' WHERE sweep_id = ?").run(second, third);
  store.prepare('DELETE FROM sweeps WHERE sweep_id = ?').run(third);
  store.prepare('UPDATE sweeps SET plan = ? WHERE sweep_id = ?').run(JSON.stringify({ pairs }), second);
  store.close();
  const env = { ...process.env, COLUMNS: String(columns) };
  const { code, stdout } = await bench(['check'], { env: { ...env, BENCH_DB: db } });
  return { code, lines: stdout.split('\n') };
}

test('the finding names the whole group, its sizes, and how many cells were measured in pairs', async () => {
  const { code, lines } = await checkedPairs(120, [1, 2, 4, 8, 16], ['resnet', 'vit']);
  expect(code).toBe(1);
  expect(lines[0]).toBe('5 cells slower: 5 new');
  expect(lines[4]).toMatch(/^▲ \w{8} 5 of 10 cells slower by 1\.4 to 2\.4 %: all resnet, since 2026-01-02$/);
  expect(lines.slice(5, 7)).toEqual([
    '  new in GPU compute time: 5 of 5 pairs with the last good engine in 3 of its 5 cells (median +2.1 %), 95 % interval',
    '    +1.6 … +3.1 % in the clearest cell',
  ]);
  const rows = lines.filter((line) => /^(?:resnet|vit) /.test(line)).map((line) => line.split(/ {2,}/).slice(2, 5));
  expect(rows).toEqual([
    ['b2', '0.1785 ms', '+2.4 %'],
    ['b1', '0.1721 ms', '+2.1 %'],
    ['b16', '0.3109 ms', '+1.9 %'],
    ['b4', '0.1925 ms', '+1.7 %'],
    ['b8', '0.2111 ms', '+1.4 %'],
  ]);
  const narrow = await checkedPairs(60, [1, 2, 4, 8, 16], ['resnet', 'vit']);
  expect(narrow.lines.filter((line) => textWidth(line) > 60)).toEqual([]);
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

test('SIGKILL before any write of a check: the next one says and stores the same', async () => {
  const folder = temporaryFolder();
  simulateNights(join(folder, 'bench.sqlite'), {
    cells: simulatedCells(4),
    nights: 3,
    repeats: 2,
    value: (cell, night, repeat) => (1 + cell) * (night < 2 ? 1 : 1.08) * (1 + 0.001 * ((night * 7 + repeat) % 5)),
  });
  for (let night = 0; night < 3; night += 1) {
    mkdirSync(join(folder, 'artefacts', sweepOfNight(night)), { recursive: true });
  }
  const ofAll = async (of: string): Promise<unknown> => [
    (await bench(['check', '--db', of])).stdout,
    stored(of),
    findingsOf(of),
  ];
  const copy = (): string => {
    const to = temporaryFolder();
    cpSync(folder, to, { recursive: true });
    return join(to, 'bench.sqlite');
  };
  const whole = await ofAll(copy());
  const NODE_OPTIONS = `--import=${pathToFileURL(join(ROOT, 'test', 'support', 'dies-at-write.mjs')).href}`;
  let kills = 0;
  for (let signal: string | null = 'SIGKILL'; signal === 'SIGKILL'; kills += 1) {
    const cut = copy();
    const env = { NODE_OPTIONS, DIES_AT_WRITE: `${kills + 1}` };
    signal = (await benchProcess(['check', '--db', cut], { env })).signal;
    expect([kills, await ofAll(cut)]).toEqual([kills, whole]);
  }
  expect(kills).toBeGreaterThan(2);
}, 120_000);
