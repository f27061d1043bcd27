import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ack } from '../../../src/features/ack/ack.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { testIo } from '../../support/io.ts';
import { Repository } from '../../support/repository.ts';
import {
  nightDate,
  normals,
  simulatedCells,
  type SimulatedNights,
  simulateNights,
  sweepOfNight,
} from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';

const CELLS = simulatedCells(6);
/** Half a percent from night to night, the same for the same night. */
const NOISE = Array.from({ length: 200 * CELLS.length }, normals(11)).map((z) => 0.005 * z);

function quiet(cell: number, night: number): number {
  return (0.5 + 0.1 * cell) * Math.exp(NOISE[night * CELLS.length + cell] ?? 0);
}

interface Finding {
  readonly id: string;
  readonly label: string;
  readonly direction: string;
  readonly changePercent: number;
  readonly before: number;
  readonly after: number;
  readonly state: string;
  readonly firstBadSweepId: string;
  readonly toldSweepId: string;
}

interface Checked {
  readonly groups: readonly {
    readonly direction: string;
    readonly shared: readonly string[];
    readonly changes: readonly string[];
    readonly commits: readonly { commit: string; subject: string }[];
    readonly lastGood: { sweepId: string } | null;
    readonly findings: readonly Finding[];
  }[];
  readonly earlier: readonly Finding[];
  readonly failed: readonly { label: string; reasons: string[] }[];
  readonly off: readonly { label: string; nights: number; changePercent: number }[];
  readonly notes: readonly string[];
}

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

  async check(...args: string[]): Promise<{ code: number | null; json: Checked; text: string }> {
    const { code, stdout, stderr } = await this.run('check', ...args, '--json');
    if (stderr !== '') throw new Error(stderr);
    const parsed: unknown = JSON.parse(stdout);
    OUTPUTS.check.parse(parsed);
    const json: Checked = JSON.parse(stdout);
    return { code, json, text: stdout };
  }

  /** Checks every night from `from` on; what was told on which. */
  async live(from: number, to: number): Promise<{ night: number; found: Checked }[]> {
    const reported: { night: number; found: Checked }[] = [];
    if (this.count < from) this.add(from - this.count);
    for (let night = from; night < to; night += 1) {
      this.add(1);
      const { json } = await this.check();
      if (json.groups.length > 0) reported.push({ night, found: json });
    }
    return reported;
  }
}

/** Cells 1, 3 and 5 (FP8) are 6 % slower from night 40 on. */
const STEP = {
  value: (cell: number, night: number) => quiet(cell, night) * (cell % 2 === 1 && night >= 40 ? 1.06 : 1),
};

describe('bench check', () => {
  test('quiet nights tell nothing', async () => {
    const nights = new Nights({ value: quiet });
    expect(await nights.live(60, 66)).toEqual([]);
    const { code, stdout } = await nights.run('check');
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'nothing new']);
  });

  test('until a step is told it is shown as off the level, without an alarm', async () => {
    const nights = new Nights({ value: (cell, night) => quiet(cell, night) * (cell === 1 && night >= 40 ? 1.2 : 1) });
    nights.add(40);
    expect((await nights.check()).json.off).toEqual([]);
    for (const running of [1, 2]) {
      nights.add(1);
      const { code, json } = await nights.check();
      expect([code, json.groups]).toEqual([0, []]);
      expect(json.off).toEqual([
        expect.objectContaining({
          label: 'vit fp8 2x3x224x224 graph',
          metric: 'gpuComputeMs',
          nights: running,
          runs: 1,
        }),
      ]);
      expect(json.off[0]?.changePercent).toBeGreaterThan(18);
      expect(json.off[0]?.changePercent).toBeLessThan(22);
    }
    const { stdout } = await nights.run('check');
    expect(stdout).toContain('no new findings; 1 cell outside the expected range');
    // The newest sweep before the two that are off.
    expect(stdout).toContain(`bench compare ${sweepOfNight(39).slice(0, 8)} latest`);
    nights.add(1);
    const { code, json } = await nights.check();
    expect([code, json.off, json.groups.length]).toEqual([1, [], 1]);
  });

  test('a step is told once, within three nights, as one group with what its cells share', async () => {
    const nights = new Nights(STEP);
    const reported = await nights.live(39, 50);
    const groups = reported.flatMap(({ found }) => found.groups);
    const findings = groups.flatMap((group) => group.findings);
    expect(findings.map(({ label }) => label).toSorted()).toEqual([
      'vit fp8 2x3x224x224 graph',
      'vit fp8 4x3x224x224 graph',
      'vit fp8 6x3x224x224 graph',
    ]);
    for (const finding of findings) {
      expect(finding.direction).toBe('slower');
      expect(finding.state).toBe('new');
      expect(finding.changePercent).toBeGreaterThan(5);
      expect(finding.changePercent).toBeLessThan(7);
      expect(finding.firstBadSweepId).toBe(sweepOfNight(40));
    }
    expect(Math.max(...reported.map(({ night }) => night))).toBeLessThanOrEqual(43);
    for (const group of groups) {
      expect(group.shared).toContain('fp8');
      expect(group.lastGood?.sweepId).toBe(sweepOfNight(39));
    }
    const last = await nights.check();
    expect([last.code, last.json.groups]).toEqual([0, []]);
    expect(last.json.earlier.map(({ state }) => state)).toEqual(['open', 'open', 'open']);
  }, 60_000);

  test('the same night twice: the same bytes and the same exit code', async () => {
    const nights = new Nights(STEP);
    nights.add(44);
    const first = await nights.check();
    const second = await nights.check();
    expect(first.code).toBe(1);
    expect(first.json.groups).not.toEqual([]);
    expect([second.code, second.text]).toEqual([first.code, first.text]);
  });

  test('--as-of looks back and stores nothing', async () => {
    const nights = new Nights(STEP);
    nights.add(60);
    const before = await nights.check('--as-of', nightDate(39));
    expect(before.json.groups).toEqual([]);
    const after = await nights.check('--as-of', nightDate(43));
    expect(after.json.groups[0]?.findings.length).toBeGreaterThan(0);
    expect(after.json.groups[0]?.findings[0]?.toldSweepId).toBe(sweepOfNight(43));
    expect(queryStore(nights.db, 'SELECT * FROM findings')).toEqual([]);
    const early = await nights.run('check', '--as-of', '2025-01-01');
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('no sweep had been')]);
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
    const { json } = await nights.check();
    expect(json.groups[0]).toMatchObject({
      changes: ['driver 580.1 → 590.2'],
      commits: [{ commit: commits[40], subject: 'change 40' }],
    });
    const { stdout } = await nights.run('check');
    expect(stdout).toContain(`likelier than a commit: driver 580.1 → 590.2`);
    expect(stdout).toContain(`last good ${commits[39]?.slice(0, 8)}, first bad ${commits[40]?.slice(0, 8)} (1 commit)`);
  });

  test('a level that comes back is recovered', async () => {
    const nights = new Nights({
      value: (cell, night) => quiet(cell, night) * (cell === 1 && night >= 40 && night < 60 ? 1.06 : 1),
    });
    await nights.live(42, 48);
    nights.add(30);
    const { json } = await nights.check();
    expect(json.earlier).toMatchObject([{ label: 'vit fp8 2x3x224x224 graph', state: 'recovered' }]);
  }, 60_000);

  test('an improvement is told, and is no failure', async () => {
    const nights = new Nights({ value: (cell, night) => quiet(cell, night) * (cell === 0 && night >= 40 ? 0.93 : 1) });
    nights.add(45);
    const { code, json } = await nights.check();
    expect([code, json.groups[0]?.direction]).toEqual([0, 'faster']);
  });

  test('throughput that falls is slower', async () => {
    const nights = new Nights(STEP);
    nights.add(45);
    const { code, json } = await nights.check('--metric', 'throughputQps');
    expect(code).toBe(1);
    expect(json.groups[0]).toMatchObject({ direction: 'slower' });
    for (const { changePercent } of json.groups[0]?.findings ?? []) {
      expect(changePercent).toBeLessThan(-4);
    }
  });

  test('cells without a result tonight make exit code 4', async () => {
    const nights = new Nights({ value: (cell, night) => (cell === 2 && night === 44 ? null : quiet(cell, night)) });
    nights.add(45);
    const { code, json } = await nights.check();
    expect(code).toBe(4);
    expect(json.failed).toMatchObject([{ label: 'vit fp16 3x3x224x224 graph', reasons: ['outOfMemory'] }]);
    expect((await nights.run('check', '--fail-on', 'regression')).code).toBe(0);
  });

  test('short histories say that they are short', async () => {
    const nights = new Nights(STEP);
    nights.add(5);
    const { code, json } = await nights.check();
    expect(code).toBe(0);
    expect(json.notes).toEqual([expect.stringContaining('5 of 20 nights')]);
  });

  test('nights on another GPU model are counted; nights that failed are none of them', async () => {
    const fails = (cell: number, night: number) => (night === 3 || night === 4 ? null : quiet(cell, night));
    const here = new Nights({ value: fails });
    here.add(5);
    expect((await here.check()).json.notes).toEqual([expect.stringContaining('3 of 20 nights')]);

    const moved = new Nights({
      value: (cell, night) => (night === 2 ? null : quiet(cell, night)),
      gpuName: (night) => (night < 4 ? 'GPU A' : 'GPU B'),
    });
    moved.add(25);
    expect((await moved.check()).json.notes).toEqual([
      '3 nights on another GPU model, TensorRT major or locked clock left out: bench compare A B --across-gpu --across-tensorrt --across-clocks',
    ]);
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
    const [first] = await nights.live(41, 46);
    return { nights, id: first?.found.groups[0]?.findings[0]?.id ?? '' };
  }

  test('silences the finding until its day is past', async () => {
    const { nights, id } = await withFindings();
    let printed = '';
    // On the day of the night before.
    const io = { ...testIo(), now: () => new Date(nightDate(45)), out: (text: string) => (printed += text) };
    await ack([id.slice(0, 8)], { reason: 'known', until: nightDate(50), db: nights.db }, io);
    expect(printed).toContain(`is acknowledged until ${nightDate(50)}`);
    const accepted = await nights.check();
    expect(accepted.json.earlier).toMatchObject([{ id, state: 'accepted' }]);
    const reported = await nights.live(46, 56);
    expect(reported.map(({ night }) => night)).toEqual([51]);
    expect(reported[0]?.found.groups[0]?.findings).toMatchObject([{ id, state: 'new' }]);
    expect((await nights.check()).json.earlier).toMatchObject([{ id, state: 'open' }]);
  }, 60_000);

  test('comes back when it gets worse', async () => {
    const { nights, id } = await withFindings();
    await nights.run('ack', id, '--reason', 'known');
    const reported = await nights.live(65, 80);
    expect(reported.length).toBeGreaterThan(0);
    expect(reported.every(({ night }) => night >= 70)).toBe(true);
  }, 60_000);

  test('can be taken back, and wants a reason', async () => {
    const { nights, id } = await withFindings();
    expect((await nights.run('ack', id)).stderr).toContain('--reason');
    await nights.run('ack', id, '--reason', 'x');
    expect((await nights.run('ack', id, '--undo')).stdout).toContain('no longer acknowledged');
    expect((await nights.run('ack', id, '--undo')).code).toBe(2);
    expect((await nights.run('ack', 'ffffffff', '--reason', 'x')).stderr).toContain('no such finding');
    const until = await nights.run('ack', id, '--reason', 'x', '--until', 'next week');
    expect(until.stderr).toContain('neither a date');
    const past = await nights.run('ack', id, '--reason', 'x', '--until', '2020-01-01');
    expect([past.code, past.stderr]).toMatchObject([
      2,
      expect.stringMatching(/^bench: --until 2020-01-01: that day is over; today is [-\d]{10} \(UTC\)\n$/),
    ]);
    const noDay = await nights.run('ack', id, '--reason', 'x', '--until', '2999-02-30');
    expect([noDay.code, noDay.stderr]).toEqual([2, 'bench: --until 2999-02-30: no such day\n']);
    const empty = await nights.run('ack', id, '--reason', 'x', '--until', '');
    expect([empty.code, empty.stderr]).toEqual([2, 'bench: --until : neither a date (2026-12-31) nor a commit here\n']);
    const json = await nights.run('ack', id, '--reason', 'x', '--json');
    expect(OUTPUTS.ack.safeParse(JSON.parse(json.stdout)).success).toBe(true);
  }, 60_000);
});

test("bench db rejudge: today's rules beside what was told", async () => {
  const nights = new Nights(STEP);
  await nights.live(39, 46);
  const same = await nights.run('db', 'rejudge');
  expect(same.stdout).toContain("46 nights: today's rules tell the same 3 changes");

  const late = new Nights(STEP);
  late.add(60);
  await late.check();
  const { stdout } = await late.run('db', 'rejudge', '--json');
  const parsed: { changes: { toldTodaySweepId: string; toldThenSweepId: string }[] } = JSON.parse(stdout);
  expect(OUTPUTS.rejudge.safeParse(parsed).error?.issues ?? []).toEqual([]);
  expect(parsed.changes).toHaveLength(3);
  for (const { toldTodaySweepId, toldThenSweepId } of parsed.changes) {
    expect(toldThenSweepId).toBe(sweepOfNight(59));
    expect(toldTodaySweepId < sweepOfNight(45)).toBe(true);
  }
  const text = await late.run('db', 'rejudge');
  expect(text.stdout).toContain('0 changes reported by both');
  expect(text.stdout).toContain('3 on another night');
}, 60_000);
