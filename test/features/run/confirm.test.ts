import type { ChildProcess } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeAll, expect, test } from 'vitest';

import { EngineCache } from '../../../src/engines/engine-cache.ts';
import { judgePairs } from '../../../src/judge/gate/judge-pairs.ts';
import { bench, finished, ROOT, sharedFolder, startBench, temporaryFolder } from '../../support/bench.ts';
import { enginesBeside } from '../../support/engine-folder.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { OUTPUTS, benchJson } from '../../support/outputs.ts';

/** Nights of a matrix of two cells, and one more after them. */
class Nights {
  readonly folder: string;
  readonly db: string;
  private readonly matrix: string;
  private readonly env: Record<string, string>;

  constructor(folder: string) {
    this.folder = folder;
    this.db = join(folder, 'bench.sqlite');
    this.matrix = stubMatrix(this.folder, ['repeats: 3']);
    this.env = { STUB_JOURNAL: join(this.folder, 'journal'), STUB_NOISE: '{"when": "", "percent": 0.2}' };
  }

  run(args: readonly string[] = [], env: Record<string, string> = {}) {
    return bench(this.arguments(args), { env: { ...this.env, ...env }, cwd: this.folder });
  }

  start(args: readonly string[], env: Record<string, string>): ChildProcess {
    return startBench(this.arguments(args), { env: { ...this.env, ...env }, cwd: this.folder });
  }

  private arguments(args: readonly string[]): string[] {
    return ['run', this.matrix, '--trtexec', STUB, '--db', this.db, '--no-telemetry', ...args];
  }

  /** Names of the cached engines. */
  engines(): string[] {
    return enginesBeside(this.db).map(({ name }) => name);
  }

  /** As when the library of TensorRT has changed: the next sweep builds the same sources again. */
  async retireEngine(): Promise<void> {
    const cache = new EngineCache(join(this.folder, 'engines'));
    await cache.index.change(({ links }) => {
      for (const note of Object.values(links)) note.number = 9;
    });
  }

  bench(...args: readonly string[]) {
    return bench([...args, '--db', this.db], { env: this.env, cwd: this.folder });
  }

  check() {
    return benchJson(OUTPUTS.check, ['check', '--db', this.db], { cwd: this.folder });
  }

  /** Another model, that is another engine. */
  changeModel(): void {
    appendFileSync(join(this.folder, 'model.onnx'), Buffer.from([0x32, 0x00]));
  }

  pairs() {
    return queryStore<{ repeat: number; build: string }>(
      this.db,
      `SELECT repeat, build_id AS build FROM runs WHERE role = 'pair' AND cell_key = (SELECT min(cell_key) FROM runs WHERE role = 'pair') ORDER BY started_at, repeat`,
    );
  }
}

let calm: Nights;

beforeAll(async () => {
  calm = new Nights(sharedFolder());
  for (let night = 0; night < 2; night += 1) {
    const { code, stderr } = await calm.run();
    if (code !== 0) throw new Error(stderr);
  }
});

/** Two sweeps of the same engine, in a folder of their own. */
function twoCalmNights(): Nights {
  const nights = new Nights(temporaryFolder());
  cpSync(calm.folder, nights.folder, { recursive: true });
  return nights;
}

const SLOW = { STUB_ENGINE_FACTOR: '1.05' };

test('a slower engine is told in its sweep, and pairs with the last good one say that it lasts', async () => {
  const nights = twoCalmNights();
  nights.changeModel();
  const { code, stderr, stdout } = await nights.run(['--confirm'], SLOW);
  expect(code).toBe(0);
  const cause = /1x3 graph: .* [+-][45]\.\d % in 5 of 5 pairs with the engine of sweep \w{8}: the cause is the engine/;
  expect(stderr).toMatch(cause);
  expect(stdout).toMatch(/\n\nbench check: 2 cells slower: 2 new\n$/);
  const pairs = nights.pairs();
  // The first of each pair alternates; at last the profiles of both.
  expect(pairs.map(({ repeat }) => repeat)).toEqual([1, 2, 4, 3, 5, 6, 8, 7, 9, 10, 1002, 1001]);
  expect(new Set(pairs.map(({ build, repeat }) => `${repeat % 2} ${build}`)).size).toBe(2);
  const confirmed = { count: 5, agreeing: 5, outcome: 'confirmed' };
  const findings = [{ state: 'new', lasts: 'pairs', cause: 'engine', pairs: confirmed }];
  expect(await nights.check()).toMatchObject({ code: 1, json: { findings } });
  // Runs of pairs, and what was planned, come back from artefacts.
  const again = join(nights.folder, 'again', 'bench.sqlite');
  mkdirSync(join(nights.folder, 'again'));
  await bench(['import', join(nights.folder, 'artefacts'), '--db', again], { cwd: nights.folder });
  const runs = `SELECT run_id, repeat, build_id FROM runs WHERE role = 'pair' ORDER BY run_id`;
  expect(queryStore(again, runs)).toEqual(queryStore(nights.db, runs));
  const restored = await benchJson(OUTPUTS.check, ['check', '--db', again], { cwd: nights.folder });
  expect(restored).toMatchObject({ code: 1, json: { findings: [{ state: 'new', lasts: 'pairs' }] } });
});

test('the machine: the last good engine is as slow, which is told without a commit, until the next sweep is back', async () => {
  const nights = twoCalmNights();
  nights.changeModel();
  const { stderr } = await nights.run(['--confirm'], { STUB_SCALE: '1.05' });
  const cause = /1x3 graph: the engine of sweep \w{8} is as slow now: the cause is the machine, not the engine/;
  expect(stderr).toMatch(cause);
  const findings = [{ state: 'new', lasts: null, cause: 'machine', pairs: { outcome: 'machine' } }];
  expect(await nights.check()).toMatchObject({ code: 1, json: { findings } });
  expect((await nights.bench('check')).stdout).not.toMatch(/first bad|bench why/);
  expect((await nights.bench('report', '--html', '-')).stdout).not.toContain('First bad');
  expect((await nights.run()).stdout).toMatch(/\n\nbench check: nothing slower\n$/);
  expect(await nights.check()).toMatchObject({ code: 0, json: { findings: [{ state: 'recovered' }] } });
});

test('nothing was rebuilt: three more runs of the same engine say that it is the machine', async () => {
  const nights = twoCalmNights();
  const { stderr } = await nights.run(['--confirm'], { STUB_SCALE: '1.05' });
  expect(stderr).toContain('is as slow now: the cause is the machine, not the engine');
  expect(nights.pairs().map(({ repeat }) => repeat)).toEqual([1, 3, 5]);
  const findings = [{ state: 'new', cause: 'machine' }];
  expect(await nights.check()).toMatchObject({ code: 1, json: { findings } });
  expect((await nights.bench('check')).stdout).toContain(': the engine is the last good one');
});

test('recovered at once: neither engine is off when they alternate', async () => {
  const nights = twoCalmNights();
  nights.changeModel();
  // The three runs of each cell share the GPU with nobody, but are 5 % slower; the pairs after them are not.
  const { stderr } = await nights.run(['--confirm'], { STUB_SLOW_UNTIL: '6' });
  expect(stderr).toMatch(/small fp16 1x3 graph: no difference from the engine of sweep \w{8} \(.*\)\n/);
  const findings = [{ state: 'recovered', lasts: null, cause: null }];
  expect(await nights.check()).toMatchObject({ code: 0, json: { findings } });
});

test('another build of the same sources is build luck', async () => {
  const nights = twoCalmNights();
  await nights.retireEngine();
  const { stderr } = await nights.run(['--confirm'], SLOW);
  expect(stderr).toMatch(/small fp16 1x3 graph: .* and both have the same build inputs: build luck/);
  const findings = [{ state: 'new', lasts: 'pairs', cause: 'buildLuck' }];
  expect(await nights.check()).toMatchObject({ json: { findings } });
});

test('an engine that is gone, or does not load, cannot be compared with: said once', async () => {
  const gone = twoCalmNights();
  await gone.bench('engines', 'rm', gone.engines()[0] ?? '');
  gone.changeModel();
  const { stderr } = await gone.run(['--confirm'], SLOW);
  const pattern = /not measured in pairs, as the engine of sweep \w{8} of [\d-]+ is no longer in the cache: small/;
  expect(stderr).toMatch(pattern);
  expect([stderr.match(/is no longer in the cache/g)?.length, gone.pairs()]).toEqual([1, []]);

  const unloadable = twoCalmNights();
  const [engine] = enginesBeside(unloadable.db);
  const rules = JSON.stringify([{ when: engine?.note.sha256, does: 'doesNotLoad' }]);
  unloadable.changeModel();
  const refused = await unloadable.run(['--confirm'], { ...SLOW, STUB_RULES: rules });
  expect(refused.stderr).toContain(': it does not load, or too few of its runs could be used');
  expect(unloadable.pairs().map(({ repeat }) => repeat)).toEqual([1, 2]);
});

test('a finished sweep is measured in pairs later, and asked again nothing is measured twice', async () => {
  const nights = twoCalmNights();
  nights.changeModel();
  const { stdout } = await nights.run([], SLOW);
  expect(nights.pairs()).toEqual([]);
  const [, sweepId = ''] = /^sweep ([0-9a-f]{8})/m.exec(stdout) ?? [];
  const resumed = await nights.bench('run', '--resume', sweepId, '--confirm');
  expect([resumed.stderr.match(/: the cause is the engine$/gm)?.length, nights.pairs().length]).toEqual([2, 12]);
  await nights.bench('run', '--resume', sweepId, '--confirm');
  expect(nights.pairs()).toHaveLength(12);
});

test('killed within a pair and resumed, it goes on with that pair', async () => {
  const nights = twoCalmNights();
  nights.changeModel();
  const child = nights.start(['--confirm'], { ...SLOW, STUB_DELAY_MS: '60' });
  const ended = finished(child);
  while (nights.pairs().length < 3) await sleep(30);
  child.kill('SIGKILL');
  await ended;
  const before = nights.pairs().length;
  expect((await nights.bench('run', '--resume')).stderr.match(/: the cause is the engine$/gm)).toHaveLength(2);
  expect(nights.pairs().length).toBeGreaterThan(before);
  const repeats = nights.pairs().map(({ repeat }) => repeat);
  expect(repeats.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1001, 1002]);
}, 120_000);

test('recorded runs: the engine for batch 32 is 15.8 % slower with batch 8 than the one before', async () => {
  const folder = temporaryFolder();
  const run = (matrix: string, ...args: string[]) =>
    bench(['run', join(ROOT, 'matrices', matrix), '--db', join(folder, 'bench.sqlite'), ...args], { cwd: folder });
  await run('quickstart-pair.yaml');
  const { stderr } = await run('quickstart-pair-opt32.yaml', '--confirm');
  const cause =
    /8x3x224x224 graph transfers: .* in 5 of 5 pairs with the engine of sweep \w{8}: the cause is the engine/;
  expect(stderr).toMatch(cause);
  const rows = queryStore<{ repeat: number; ms: number }>(
    join(folder, 'bench.sqlite'),
    `SELECT repeat, median_ms AS ms FROM runs JOIN cells USING (cell_key) JOIN time_statistics USING (run_id)
     WHERE role = 'pair' AND metric = 'gpuCompute' AND shapes LIKE '%[8,%' ORDER BY repeat`,
  );
  const timeOf = (repeat: number): number => rows.find((row) => row.repeat === repeat)?.ms ?? Number.NaN;
  const pairs = [1, 3, 5, 7, 9].map((repeat) => ({ newest: timeOf(repeat), lastGood: timeOf(repeat + 1) }));
  const about = { cellKey: 'b8', sigma: 0.003, before: 0.4115, now: 0.4765, isUnsteady: false, isSameSources: false };
  const opt32 = judgePairs({ ...about, pairs, minChangePercent: 0 });
  expect(opt32).toMatchObject({ outcome: 'confirmed', count: 5, agreeing: 5 });
  expect(opt32.changePercent).toBeCloseTo(15.8, 0);
  // The same engine on both sides: its five runs against each other.
  const same = pairs.map(({ lastGood }, place) => ({ newest: pairs[(place + 1) % 5]?.lastGood ?? 0, lastGood }));
  expect(judgePairs({ ...about, pairs: same, minChangePercent: 0 }).outcome).toBe('cleared');
});
