import { join } from 'node:path';

import type * as z from 'zod';
import { describe, expect, test } from 'vitest';

import { ack } from '../../../src/features/ack/ack.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { Repository } from '../../support/repository.ts';
import { nightDate, normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import type { SimulatedNights } from '../../support/simulated-store.ts';
import { queryStore, change } from '../../support/store-dump.ts';
import { testIo } from '../../support/io.ts';

const CELLS = simulatedCells(6);
/** Half a percent from night to night, the same for the same night. */
const NOISE = Array.from({ length: 200 * CELLS.length }, normals(11)).map((z) => 0.005 * z);

const quiet = (cell: number, night: number): number =>
  (0.5 + 0.1 * cell) * Math.exp(NOISE[night * CELLS.length + cell] ?? 0);

type Checked = z.infer<typeof OUTPUTS.check>;
type Finding = Checked['findings'][number];

/** Reported in the sweeps that were judged last, and still there. */
const reportedIn = ({ findings }: Checked): Finding[] => findings.filter(({ state }) => state === 'new');

/** A store that grows night by night, as a nightly job would have it. */
class Nights {
  readonly folder: string;
  readonly db: string;
  private count = 0;
  private readonly simulated: Omit<SimulatedNights, 'cells' | 'nights' | 'repeats'>;

  constructor(simulated: Omit<SimulatedNights, 'cells' | 'nights' | 'repeats'>, folder = temporaryFolder()) {
    this.folder = folder;
    this.db = join(folder, 'bench.sqlite');
    this.simulated = simulated;
  }

  add(nights: number): void {
    simulateNights(this.db, { ...this.simulated, cells: CELLS, nights, repeats: 1, after: this.count });
    this.count += nights;
  }

  run(...args: string[]): ReturnType<typeof bench> {
    return bench([...args, '--db', this.db], { cwd: this.folder });
  }

  async check(...args: string[]): Promise<{ code: number | null; json: Checked }> {
    const { code, stdout, stderr } = await this.run('check', ...args, '--json');
    if (stderr !== '') throw new Error(stderr);
    return { code, json: OUTPUTS.check.parse(JSON.parse(stdout)) };
  }

  /** Checks every sweep from `from` on; what was reported in which. */
  async live(from: number, to: number): Promise<{ night: number; found: Checked }[]> {
    const reported: { night: number; found: Checked }[] = [];
    if (this.count < from) this.add(from - this.count);
    for (let night = from; night < to; night += 1) {
      this.add(1);
      const { json } = await this.check();
      if (reportedIn(json).length > 0) reported.push({ night, found: json });
    }
    return reported;
  }
}

/** Cells 1, 3 and 5 (FP8) are 6 % slower from night 40 on. */
const STEP = {
  value: (cell: number, night: number) => quiet(cell, night) * (cell % 2 === 1 && night >= 40 ? 1.06 : 1),
};

describe('bench check', () => {
  test('a step is told in its first sweep, and makes exit code 1 until it is acknowledged', async () => {
    const nights = new Nights({ value: (cell, night) => quiet(cell, night) * (cell === 1 && night >= 40 ? 1.2 : 1) });
    nights.add(40);
    expect((await nights.check()).json.findings).toEqual([]);
    nights.add(1);
    const { code, json } = await nights.check();
    expect([code, json.series[0]?.headline]).toEqual([1, '1 cell slower: 1 new']);
    const [finding] = json.findings;
    expect(json.findings).toMatchObject([
      { state: 'new', direction: 'slower', lasts: null, cause: null, labels: ['vit fp8 2x3x224x224 graph'] },
    ]);
    expect([finding?.firstBad?.sweepId, finding?.lastGood?.sweepId]).toEqual([sweepOfNight(40), sweepOfNight(39)]);
    expect(finding?.metrics.map(({ metric }) => metric)).toContain('gpuComputeMs');
    const verdicts = json.series[0]?.cells.map(({ label, verdict }) => [label, verdict]);
    expect(verdicts?.filter(([, verdict]) => verdict !== 'same')).toEqual([['vit fp8 2x3x224x224 graph', 'slower']]);
    const { stdout } = await nights.run('check');
    expect(stdout.split('\n')[0]).toBe('1 cell slower: 1 new');
    const filtered = await nights.run('check', '--filter', 'batch=1');
    expect([filtered.code, filtered.stdout]).toEqual([1, expect.stringContaining('the exit code are of all cells')]);
    const confirm = `bench run --resume ${sweepOfNight(40).slice(0, 8)} --confirm`;
    // Only by what measured it: not for an import, nor for what was handed to Slurm.
    expect(stdout).not.toContain('--confirm');
    for (const [slurmRun, isOurs] of [
      [null, true],
      ['/runs/1', false],
    ] as const) {
      change(nights.db, `UPDATE sweeps SET plan = '${JSON.stringify({ plan: { tensorrt: '10.6.0' }, slurmRun })}'`);
      expect((await nights.run('check')).stdout.includes(confirm)).toBe(isOurs);
    }
    expect(stdout).toContain(`last good sweep ${sweepOfNight(39).slice(0, 8)}`);
    expect((await nights.run('ls', 'sweeps', '--last', '5')).stdout).toContain('5 of 41 sweeps: --last 41 shows all\n');
    // Words that --fail-on had before are taken for those of today.
    const takes = 'note: --fail-on takes open as regression, and suspected as unclear, in this version only\n';
    expect(await nights.run('check', '--fail-on', 'suspected,open')).toMatchObject({ code: 1, stderr: takes });
    expect((await nights.run('check', '--fail-on', 'suspected')).code).toBe(0);
    expect((await nights.run('check', '--fail-on', 'confirmed')).code).toBe(2);
    nights.add(2);
    const last = await nights.check();
    expect([last.code, last.json.findings.map(({ id, state }) => [id, state])]).toEqual([1, [[finding?.id, 'open']]]);
    expect(last.json.series[0]?.headline).toBe('1 cell slower: 1 open');
    expect((await nights.check('--fail-on', 'new')).code).toBe(0);
    await nights.run('ack', '--all', '--reason', 'known');
    const accepted = await nights.check();
    expect([accepted.code, accepted.json.series[0]?.headline]).toEqual([0, 'nothing slower; 1 finding acknowledged']);
    expect(accepted.json.series[0]?.cells.map(({ verdict }) => verdict)).not.toContain('slower');
  }, 60_000);

  test('a step is one finding with all its cells and metrics, reported once', async () => {
    const nights = new Nights(STEP);
    const reported = await nights.live(39, 46);
    const [finding, ...others] = reported.flatMap(({ found }) => reportedIn(found));
    expect(others).toEqual([]);
    const expected = ['vit fp8 2x3x224x224 graph', 'vit fp8 4x3x224x224 graph', 'vit fp8 6x3x224x224 graph'];
    expect(finding?.labels.toSorted()).toEqual(expected);
    expect(finding).toMatchObject({ direction: 'slower', state: 'new' });
    expect(finding?.group).toContain('fp8');
    expect([finding?.firstBad?.sweepId, finding?.lastGood?.sweepId]).toEqual([sweepOfNight(40), sweepOfNight(39)]);
    const gpu = finding?.details.filter(({ metric }) => metric === 'gpuComputeMs') ?? [];
    for (const { changePercent } of gpu) {
      expect(changePercent).toBeGreaterThan(4);
      expect(changePercent).toBeLessThan(8);
    }
    expect([gpu.length, reported.map(({ night }) => night)]).toEqual([3, [40]]);
    const last = await nights.check();
    expect(last).toMatchObject({ code: 1, json: { findings: [{ state: 'open', lasts: 'history' }] } });
  }, 60_000);

  test('--as-of looks back and stores nothing', async () => {
    const nights = new Nights(STEP);
    nights.add(60);
    const { code, json } = await nights.check('--as-of', nightDate(43));
    expect([code, reportedIn(json)[0]?.reportedSweepId]).toEqual([1, sweepOfNight(43)]);
    expect(queryStore(nights.db, 'SELECT * FROM findings')).toEqual([]);
    const early = await nights.run('check', '--as-of', '2025-01-01');
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('there was no sweep at that time')]);
  });

  test('what else changed on that night is likelier; commits between come from git', async () => {
    const repository = new Repository(temporaryFolder());
    const commits = Array.from({ length: 50 }, () => repository.commit());
    const nights = new Nights(
      {
        ...STEP,
        driver: (night) => (night >= 40 ? '590.2' : '580.1'),
        branch: 'main',
        commit: (night) => commits[night] ?? null,
      },
      repository.folder,
    );
    nights.add(44);
    expect(reportedIn((await nights.check()).json)[0]).toMatchObject({
      environmentChanges: ['driver 580.1 → 590.2'],
      commits: [{ commit: commits[40], subject: 'change 40' }],
    });
    const { stdout } = await nights.run('check');
    expect(stdout).toContain(`likeliest cause: environment: driver 580.1 → 590.2`);
    const text = `first bad ${commits[40]?.slice(0, 8)} "change 40", last good ${commits[39]?.slice(0, 8)} (1 commit)`;
    expect(stdout).toContain(text);
    change(
      nights.db,
      `update sweeps set git_dirty = 1, git_commit = '${commits[39]}' where git_commit = '${commits[40]}'`,
    );
    const dirty = (await nights.run('check')).stdout;
    expect(dirty).toContain(`first bad ${commits[39]?.slice(0, 8)} with uncommitted changes, last good`);
    const { stderr } = await nights.run('ack', '--all', '--reason', 'known', '--until', 'HEAD~6');
    expect(stderr).toMatch(
      /^bench: --until HEAD~6 \(\w{8}\): sweep \w{8} has measured it; name a later commit, or a date/,
    );
  });

  test('a level that comes back is recovered', async () => {
    const nights = new Nights({
      value: (cell, night) => quiet(cell, night) * (cell === 1 && night >= 40 && night < 60 ? 1.06 : 1),
    });
    await nights.live(42, 44);
    nights.add(30);
    const { json } = await nights.check();
    expect(json.findings.filter(({ direction }) => direction === 'slower')).toMatchObject([
      { labels: ['vit fp8 2x3x224x224 graph'], state: 'recovered' },
    ]);
    const id = json.findings.find(({ direction }) => direction === 'slower')?.id ?? '';
    const { stdout } = await nights.run('show', id.slice(0, 8));
    expect(stdout).toMatch(/^▲ \w{8} vit fp8 2x3x224x224 graph slower by [56]\.\d %, from 2026-02-10 to 2026-03-01\n/);
    expect(stdout).not.toContain('bench ack');
    expect(stdout).toContain('recovered in GPU compute time: 20 sweeps');
  }, 60_000);

  test('an improvement is told, and is no failure', async () => {
    const nights = new Nights({ value: (cell, night) => quiet(cell, night) * (cell === 0 && night >= 40 ? 0.93 : 1) });
    nights.add(40);
    await nights.check();
    nights.add(1);
    const { code, json } = await nights.check();
    expect([code, json.series[0]?.headline]).toEqual([0, 'nothing slower; 1 cell faster: 1 new']);
    expect(reportedIn(json)).toMatchObject([{ direction: 'faster', labels: ['vit fp16 1x3x224x224 graph'] }]);
    // What held in three sweeps is the reference from then on.
    nights.add(4);
    const held = await nights.check();
    expect([held.code, held.json.series[0]?.verdict, held.json.series[0]?.cells.map(({ verdict }) => verdict)]).toEqual(
      [0, 'same', CELLS.map(() => 'same')],
    );
    const { stdout } = await nights.run('check');
    expect(stdout).toMatch(
      /now the reference in GPU compute time: \w{8} vit fp16 .* faster by 6\.1 %,\s+since 2026-02-10\n/,
    );
  });
});

describe('bench ack', () => {
  async function withFindings(): Promise<{ nights: Nights; id: string }> {
    const nights = new Nights({
      value: (cell, night) => {
        const slow = cell === 1 && night >= 40 ? 1.06 : 1;
        return quiet(cell, night) * slow * (cell === 1 && night >= 70 ? 1.04 : 1);
      },
    });
    const [first] = await nights.live(41, 42);
    return { nights, id: first === undefined ? '' : (reportedIn(first.found)[0]?.id ?? '') };
  }

  test('silences the finding until its day is past', async () => {
    const { nights, id } = await withFindings();
    let printed = '';
    // On the day of the night before.
    const io = { ...testIo(), now: () => new Date(nightDate(45)), out: (text: string) => (printed += text) };
    await ack([id.slice(0, 8)], { reason: 'known', until: nightDate(50), db: nights.db }, io);
    expect(printed).toContain(`is acknowledged until ${nightDate(50)}: known; --undo reverts this`);
    const text = (await nights.run('check', '--all')).stdout.replaceAll(/\s+/g, ' ');
    expect(text).toMatch(new RegExp(`acknowledged in GPU compute time: ${id.slice(0, 8)} .*; reason: known`));
    const accepted = await nights.check();
    expect([accepted.code, accepted.json.findings]).toMatchObject([0, [{ id, acknowledged: { reason: 'known' } }]]);
    // Nothing is told as new: what was accepted is open again, against the level before it.
    expect([await nights.live(46, 51), (await nights.check()).code, await nights.live(51, 53)]).toEqual([[], 0, []]);
    const over = await nights.check();
    expect([over.code, over.json.findings]).toMatchObject([1, [{ id, state: 'open', acknowledged: null }]]);
  }, 60_000);

  test('comes back when it gets worse', async () => {
    const { nights, id } = await withFindings();
    await nights.run('ack', id, '--reason', 'known');
    const { stdout } = await nights.run('trend', 'fp8 b2');
    const { stderr } = await nights.run('trend', 'fp8 b2', '--metric', 'temperature');
    expect(stderr).toBe(
      'bench: no simulated run of these cells with temperature is stored outside of experiments; --provenance names another kind\n',
    );
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`finding ${id.slice(0, 8)}: acknowledged`);
    const reported = await nights.live(68, 72);
    expect(reported.map(({ night }) => night)).toEqual([70]);
    const [further] = reported.flatMap(({ found }) => reportedIn(found));
    expect(further).toMatchObject({ labels: ['vit fp8 2x3x224x224 graph'], direction: 'slower' });
    expect(further?.id).not.toBe(id);
    for (const { changePercent } of further?.details ?? []) expect(Math.abs(changePercent)).toBeLessThan(6);
  }, 60_000);
});

test("bench db rejudge: today's rules beside what was told", async () => {
  const nights = new Nights(STEP);
  await nights.live(39, 42);
  expect((await nights.run('db', 'rejudge')).stdout).toContain(
    "42 sweeps: 3 changes reported in the same sweep by today's rules, 0 not",
  );

  const late = new Nights(STEP);
  late.add(46);
  await late.check();
  const { stdout } = await late.run('db', 'rejudge', '--json');
  const parsed: { changes: { toldTodaySweepId: string; toldThenSweepId: string }[] } = JSON.parse(stdout);
  expect([OUTPUTS.rejudge.safeParse(parsed).error?.issues ?? [], parsed.changes.length]).toEqual([[], 3]);
  for (const { toldTodaySweepId, toldThenSweepId } of parsed.changes) {
    expect([toldThenSweepId, toldTodaySweepId < sweepOfNight(43)]).toEqual([sweepOfNight(45), true]);
  }
  const text = await late.run('db', 'rejudge');
  expect(text.stdout).toContain("0 changes reported in the same sweep by today's rules, 3 not");
}, 60_000);

test('an engine that bench did not build was not rebuilt: it is another one', async () => {
  const nights = new Nights({
    value: (cell, night) => (night === 9 && cell < 5 ? 1.1 : 1 + night / 1e4),
    engine: (_, night) => ({ buildId: (night === 9 ? 'b' : 'a').repeat(32) }),
  });
  nights.add(10);
  change(nights.db, 'UPDATE builds SET model_sha256 = NULL');
  const { stdout } = await bench(['check', '--db', nights.db]);
  expect(stdout).toContain('in the same sweep: another engine (likelier than a commit)');
  expect(stdout).toContain('\n1 other: --all\n');
});
