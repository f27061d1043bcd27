import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, benchProcess, finished, startBench, temporaryStore, refusal } from '../support/bench.ts';
import { endingsBeside, enginesBeside, startsWith } from '../support/engine-folder.ts';
import { FakeGpu } from '../support/fake-gpu.ts';
import { queryStore, firstId } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

function place(more: readonly string[] = []) {
  const { folder, db } = temporaryStore();
  const args = ['run', stubMatrix(folder, more), '--trtexec', STUB, '--db', db, '--no-telemetry'];
  return { db, journal: join(folder, 'journal'), args };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(10);
}

describe('several processes that want the same engine', () => {
  test('4 at once build it once, and all of them measure', async () => {
    const { args, db, journal } = place(['repeats: 1']);
    const env = { STUB_JOURNAL: journal, STUB_WRITE_MS: '3000', STUB_LUCK: '1' };
    const all = await Promise.all(Array.from({ length: 4 }, () => benchProcess(args, { env })));
    expect(all.map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 0));
    expect(startsWith(journal, '--saveEngine')).toBe(1);
    expect(enginesBeside(db)).toMatchObject([{ isWhole: true, note: { model: 'small' } }]);
    expect(queryStore(db, `SELECT DISTINCT build_id FROM runs WHERE role = 'timed'`)).toHaveLength(1);
    expect(all.filter(({ stderr }) => /waiting for process \d+, which builds/.test(stderr)).length).toBeGreaterThan(0);
    expect(endingsBeside(db).filter((name) => /building|use-/.test(name))).toEqual([]);
  }, 60_000);

  test('one waits, the builder is killed: it builds the engine itself', async () => {
    const { args, db, journal } = place(['repeats: 1']);
    const env = { STUB_JOURNAL: journal };
    const builder = startBench(args, { env: { ...env, STUB_WRITE_MS: '60000' } });
    const ended = finished(builder);
    await until(() => startsWith(journal, '--saveEngine') === 1);
    const waiter = bench(args, { env });
    await sleep(300);
    builder.kill('SIGKILL');
    await ended;
    expect((await waiter).code).toBe(0);
    expect([startsWith(journal, '--saveEngine'), enginesBeside(db).map(({ isWhole }) => isWhole)]).toEqual([2, [true]]);
  }, 60_000);

  test('one waits, the build fails: it tries itself', async () => {
    const { args, journal } = place(['repeats: 1']);
    const env = { STUB_JOURNAL: journal };
    const none = JSON.stringify([{ when: '--saveEngine', does: 'noEngine' }]);
    const ended = finished(startBench(args, { env: { ...env, STUB_RULES: none, STUB_DELAY_MS: '1500' } }));
    await until(() => startsWith(journal, '--saveEngine') === 1);
    const second = await bench(args, { env });
    expect([(await ended).code, second.code, startsWith(journal, '--saveEngine')]).toEqual([4, 0, 2]);
  }, 60_000);

  test('Ctrl-C ends the wait at once', async () => {
    const { args, journal } = place(['repeats: 1']);
    const env = { STUB_JOURNAL: journal };
    const builder = startBench(args, { env: { ...env, STUB_WRITE_MS: '60000' } });
    const built = finished(builder);
    await until(() => startsWith(journal, '--saveEngine') === 1);
    const waiter = startBench(args, { env });
    const ended = finished(waiter);
    let said = '';
    waiter.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said.includes('waiting for process'));
    waiter.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    // Had it waited to the end, the other would have built.
    expect(builder.exitCode).toBeNull();
    expect(stderr).toContain(`${`waiting for process ${builder.pid}`}, which builds the same engine`);
    expect(stderr).toContain('bench run --resume');
    builder.kill('SIGINT');
    expect((await built).code).toBe(130);
  }, 60_000);
});

test('an engine whose bytes change during a sweep is built anew', async () => {
  const { args, db, journal } = place(['repeats: 4']);
  const ended = finished(startBench(args, { env: { STUB_JOURNAL: journal, STUB_DELAY_MS: '150' } }));
  await until(() => startsWith(journal, '--loadEngine') === 2);
  const [engine] = enginesBeside(db);
  const path = engine?.path ?? '';
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(7) ^ 1, 7);
  writeFileSync(path, bytes);
  const { code, stderr } = await ended;
  expect(code).toBe(0);
  expect(stderr).toContain('was changed or removed, so bench rebuilds it');
  expect([startsWith(journal, '--saveEngine'), enginesBeside(db).map(({ isWhole }) => isWhole)]).toEqual([2, [true]]);
  expect(queryStore(db, `SELECT DISTINCT build_id FROM runs WHERE role = 'timed'`)).toHaveLength(2);
}, 60_000);

test('an engine that does not load fails one run, and the next sweep builds it anew', async () => {
  const { args, db, journal } = place(['repeats: 3']);
  const env = { STUB_JOURNAL: journal };
  const rules = JSON.stringify([{ when: '--loadEngine', does: 'doesNotLoad' }]);
  const failed = await bench(args, { env: { ...env, STUB_RULES: rules } });
  expect(failed).toMatchObject({ code: 4, stderr: expect.stringContaining('the engine small fp16 does not load; ') });
  expect([startsWith(journal, '--saveEngine'), startsWith(journal, '--duration')]).toEqual([1, 1]);
  expect(enginesBeside(db)).toEqual([]);
  expect([(await bench(args, { env })).code, startsWith(journal, '--saveEngine')]).toEqual([0, 2]);
  expect(enginesBeside(db).map(({ isWhole }) => isWhole)).toEqual([true]);
}, 30_000);

test('a pinned engine that does not load stays', async () => {
  const { args, db } = place(['repeats: 1']);
  expect((await bench(args)).code).toBe(0);
  const [engine] = enginesBeside(db);
  expect((await bench(['engines', 'pin', engine?.note.engineKey ?? '', '--db', db])).code).toBe(0);
  const path = join(dirname(db), 'engines', 'index.json');
  // Of the two reasons to keep it, only the pin.
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), lastGood: {} }));
  const rules = JSON.stringify([{ when: '--loadEngine', does: 'doesNotLoad' }]);
  const failed = await bench(args, { env: { STUB_RULES: rules } });
  expect(failed).toMatchObject({ code: 4, stderr: expect.stringContaining('does not load; its file stays') });
  expect(enginesBeside(db).map(({ isWhole }) => isWhole)).toEqual([true]);
}, 30_000);

describe('builds: N', () => {
  test('builds each engine so often, spreads the runs over them, and keeps them', async () => {
    const { args, db, journal } = place(['builds: 3', 'repeats: 2']);
    const env = { STUB_JOURNAL: journal, STUB_LUCK: '1' };
    expect([(await bench(args, { env })).code, startsWith(journal, '--saveEngine')]).toEqual([0, 3]);
    const engines = enginesBeside(db);
    expect(engines.map(({ note }) => note.number)).toEqual([1, 2, 3]);
    expect(new Set(engines.map(({ note }) => note.engineKey)).size).toBe(1);
    expect(new Set(engines.map(({ note }) => note.sha256)).size).toBe(3);
    // With a common timing cache they would all choose alike.
    expect(engines.map(({ note }) => note.timingCacheSha256)).toEqual([null, null, null]);
    const runs = queryStore<{ runs: number; builds: number; repeats: string }>(
      db,
      `SELECT count(*) AS runs, count(DISTINCT build_id) AS builds,
         (SELECT group_concat(repeat) FROM (SELECT repeat FROM runs r WHERE r.cell_key = runs.cell_key ORDER BY repeat)) AS repeats
       FROM runs WHERE role = 'timed' GROUP BY cell_key`,
    );
    expect(runs).toEqual([
      { runs: 6, builds: 3, repeats: '1,2,3,4,5,6' },
      { runs: 6, builds: 3, repeats: '1,2,3,4,5,6' },
    ]);
    expect([(await bench(args, { env })).code, startsWith(journal, '--saveEngine')]).toEqual([0, 3]);
  }, 60_000);

  test('does not go with a frozen engine, nor with fewer recorded builds', async () => {
    const { args } = place(['builds: 2']);
    const [, matrix = ''] = args;
    writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('build: {', 'build: {engine: frozen, '));
    const stderr = expect.stringContaining('2 builds of each engine and build.engine: frozen cannot be used together');
    expect(await bench(args)).toMatchObject({ code: 2, stderr });
    const recorded = await bench(['plan', 'matrices/quickstart-pair.yaml', '--builds', '2']);
    const said = expect.stringContaining('has 1 of 2 recordings of this build');
    expect(recorded).toMatchObject({ code: 2, stderr: said });
  }, 30_000);
});

test('engine: frozen: stays when the model changes, until it is let go of', async () => {
  const { args, db, journal } = place(['repeats: 1']);
  const [, matrix = ''] = args;
  writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('build: {', 'build: {engine: frozen, '));
  const env = { STUB_JOURNAL: journal };
  expect((await bench(args, { env })).stderr).toContain('is frozen to this engine from now on');
  const model = join(db, '..', 'model.onnx');
  writeFileSync(model, Buffer.concat([readFileSync(model), Buffer.from([0x0a, 0x00])]));
  const second = await bench(args, { env });
  expect([second.code, startsWith(journal, '--saveEngine')]).toEqual([0, 1]);
  expect(second.stderr).toContain('engine small fp16: frozen');
  expect(second.stderr).toContain('model, TensorRT or driver have changed since');
  const newest = `SELECT notes FROM runs WHERE role = 'timed' ORDER BY started_at DESC LIMIT 1`;
  expect(queryStore(db, newest)).toMatchObject([{ notes: expect.stringContaining('frozen engine, since 20') }]);
  const [engine] = enginesBeside(db);
  writeFileSync(engine?.path ?? '', 'something else');
  const damaged = await bench(args, { env });
  expect([damaged.code, startsWith(journal, '--saveEngine')]).toEqual([4, 1]);
  const advice = `bench engines rm ${engine?.name.slice(0, 8)}`;
  expect(damaged.stderr).toContain(`has changed or was removed: remove it with \`${advice}\``);
  await bench(['engines', 'rm', engine?.name ?? '', '--db', db]);
  expect([(await bench(args, { env })).code, startsWith(journal, '--saveEngine')]).toEqual([0, 2]);
}, 60_000);

describe('a timing cache', () => {
  test('that a build ended with is kept with its engine, and written for others to build with', async () => {
    const { args, db, journal } = place(['builds: 2', 'repeats: 1']);
    const [, matrix = ''] = args;
    const cwd = join(db, '..');
    const env = { ...new FakeGpu().env(), STUB_JOURNAL: journal };
    expect((await bench(args, { env })).code).toBe(0);
    const pin = (key: string, ...more: string[]) => bench(['engines', 'pin', key, '--db', db, ...more], { cwd });
    const key = enginesBeside(db)[0]?.note.engineKey ?? '';
    const text = 'bench: --timing-cache needs a single build: name KEY-2 or a run\n';
    expect(await pin(key, '--timing-cache', 'good.cache')).toEqual(refusal(text));
    const wrote = /^wrote good\.cache \(\d+ B\) and good\.cache\.json, for build: \{timingCache: good\.cache\}/;
    expect((await pin(`${key}-2`, '--timing-cache', 'good.cache')).stderr).toMatch(wrote);
    const times = `times of ${join(cwd, 'model.onnx')}\n`;
    expect(readFileSync(join(cwd, 'good.cache'), 'utf8')).toBe(times);

    // By the id of its run, as a sweep names it.
    const built = firstId(db, `SELECT run_id AS id FROM runs WHERE role = 'build' LIMIT 1`);
    expect((await pin(built.slice(0, 12), '--timing-cache', 'same.cache')).code).toBe(0);
    const second = enginesBeside(db).find(({ name }) => name.endsWith('-2'));
    writeFileSync(second?.path.replace('.plan', '.cache') ?? '', 'damaged');
    const damaged = await pin(`${key}-2`, '--timing-cache', 'none.cache');
    expect(damaged).toEqual(refusal('has no stored timing cache'));

    writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('build: {', 'build: {timingCache: good.cache, '));
    // Its origin is known: nothing is said, and the build begins with it.
    await bench(['engines', 'rm', key, '--force', '--db', db]);
    expect(endingsBeside(db).filter((name) => name.endsWith('cache'))).toEqual([]);
    const rebuilt = await bench([...args, '--builds', '1'], { env });
    expect([rebuilt.code, rebuilt.stderr.includes('nothing says')]).toEqual([0, false]);
    const sha256 = createHash('sha256').update(times).digest('hex');
    expect(enginesBeside(db)[0]?.note.timingCacheSha256).toBe(sha256);
  }, 60_000);

  test('of the matrix, made on another GPU: refused before the build, unless it is forced', async () => {
    const { args, db, journal } = place(['repeats: 1']);
    const [, matrix = ''] = args;
    const own = join(db, '..', 'own.cache');
    writeFileSync(own, 'times of an L4');
    const sha256 = createHash('sha256').update('times of an L4').digest('hex');
    const unknown = { computeCapability: null, tensorrtLibrary: null, cudaMajor: null, lockedClocks: null };
    const timedOn = { gpuName: 'NVIDIA L4', tensorrt: '10.6.0', driverMajor: '580', ...unknown };
    writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('build: {', 'build: {timingCache: own.cache, '));
    const env = { ...new FakeGpu().env(), STUB_JOURNAL: journal };
    const stderr = expect.stringContaining('nothing says on which GPU the timing cache');
    expect(await bench(args, { env })).toMatchObject({ code: 0, stderr });
    await bench(['engines', 'rm', enginesBeside(db)[0]?.name ?? '', '--db', db]);
    writeFileSync(`${own}.json`, JSON.stringify({ schemaVersion: 1, sha256, bytes: 14, timedOn }));
    const refused = await bench(args, { env });
    expect([refused.code, startsWith(journal, '--saveEngine')]).toEqual([2, 1]);
    expect(refused.stderr).toContain(
      'timing cache made on another machine: GPU NVIDIA L4, here NVIDIA H200: leave it out, or use it anyway with --force-cache',
    );
    const forced = await bench([...args, '--force-cache'], { env });
    expect([forced.code, startsWith(journal, '--saveEngine')]).toEqual([0, 2]);
    const newest = `SELECT notes FROM runs WHERE role = 'build' ORDER BY started_at DESC LIMIT 1`;
    const notes = expect.stringContaining('forced timing cache made on another machine');
    expect(queryStore(db, newest)).toMatchObject([{ notes }]);
    expect(enginesBeside(db)[0]?.note.timingCacheSha256).toBe(sha256);
    expect(readFileSync(own, 'utf8')).toBe('times of an L4');
    const unseen = await bench(args, { env: { STUB_JOURNAL: journal } });
    expect(unseen.stderr).toContain('own.cache was made on NVIDIA L4: TensorRT may reject it');
  }, 30_000);
});

describe('an engine that the matrix names', () => {
  test.each([
    ['10.6.0.26', 0, 1, ''],
    ['10.3.0.26', 0, 1, 'was built with TensorRT 10.3.0.26: 10.6.0 loads it only if it is version-compatible'],
    ['11.0.0.1', 4, 0, 'built with TensorRT 11.0.0.1, which 10.6.0 cannot load: build it again'],
    ['', 2, 0, 'given.plan: has 0 bytes: build it again\n'],
  ])('built by TensorRT %s', async (built, code, runs, said) => {
    const { args, db, journal } = place();
    writeFileSync(join(db, '..', 'given.plan'), built && 'an engine');
    const model = '{shapes: {input: [1, 3]}, precisions: {fp16: {engine: given.plan}}, build: {max: {input: [8, 3]}}}';
    const given = `models: {small: ${model}}\naxes: {precision: fp16}\nrepeats: 1\n`;
    writeFileSync(args[1] ?? '', given);
    const ended = await bench(args, { env: { STUB_JOURNAL: journal, STUB_PLAN_VERSION: built } });
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)]);
    expect(startsWith(journal, '--duration')).toBe(runs);
    const flags = '["--minShapes=input:1x3","--optShapes=input:1x3","--maxShapes=input:8x3"]';
    const builds = code === 2 ? [] : queryStore(db, 'SELECT flags FROM builds');
    expect(builds).toEqual(runs === 0 ? [] : [{ flags }]);
  });
});
