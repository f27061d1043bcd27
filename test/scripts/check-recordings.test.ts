import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';

import { compareQuotes, compareRun, readFacts } from '../../scripts/check-recordings/check-source.ts';
import { checkExports } from '../../scripts/check-recordings/exports.ts';
import { claimsOf, compareFacts } from '../../scripts/check-recordings/facts.ts';
import { compareStored, storedDifferences, StoreReader } from '../../scripts/check-recordings/stored-run.ts';
import { filesOf, logsOf } from '../../scripts/check-recordings/text.ts';
import { readRunFolder } from '../../src/artefacts/read/read-run.ts';
import { bench, type Finished, finished, ROOT, temporaryFolder } from '../support/bench.ts';
import { FIXTURES, readFixture } from '../support/recordings.ts';

const check = (...args: readonly string[]): Promise<Finished> =>
  finished(spawn(process.execPath, [join(ROOT, 'scripts', 'check-recordings.ts'), ...args], { cwd: ROOT }));

/** One recorded run as the program reads it and as the checker reads it. */
async function bothReadings(name: string) {
  const source = { kind: 'folder', path: join(FIXTURES, name) } as const;
  const files = await filesOf(source);
  const runs = await readRunFolder(source.path);
  const text = await readFacts(logsOf(source, files), runs);
  const [run] = runs;
  const facts = text.finish()[0]?.finish();
  if (run === undefined || facts === undefined) throw new Error(`${name}: nothing in it`);
  return { run, facts, runs, text, files };
}

describe('as a command', () => {
  test.each([
    [
      join('test', 'fixtures'),
      /^200 runs in 199 logs: 103 measured, 11 built, 59 failed, 27 unfit; 20 \d{3} numbers and 9\d\d \d{3} samples equal; \d+ quoted lines found; 55 expectations met; 0 problems\n$/,
    ],
    [
      'recordings',
      /^199 runs in 199 logs: 173 measured, 21 built, 5 failed, 0 unfit; 19 \d{3} numbers and 8\d\d \d{3} samples equal; \d+ quoted lines found; 0 expectations met; 0 problems\n$/,
    ],
  ])('every run below %s is read to the last number', async (folder, expected) => {
    const { code, stdout, stderr } = await check(join(ROOT, folder));
    expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout: expect.stringMatching(expected) });
  });

  test('an outcome that is not the expected one is named with its line', async () => {
    const folder = temporaryFolder();
    for (const name of ['engine-missing', 'no-gpu']) {
      cpSync(join(FIXTURES, 'failures', name), join(folder, name), { recursive: true });
    }
    const rows = ['engine-missing\tfailed:noGpu', 'no-gpu\tfailed:noGpu|failed:unknown', 'gone\t-'];
    writeFileSync(join(folder, 'expected.tsv'), `${rows.join('\n')}\n`);
    const { code, stdout } = await check(folder);
    expect(code).toBe(1);
    expect(stdout.split('\n')).toEqual([
      `${folder}/expected.tsv:1: engine-missing – expected "failed:noGpu", got "failed:engineMissing"`,
      `${folder}/expected.tsv:3: gone – expected "-", got "no such run"`,
      expect.stringMatching(/^2 runs in 2 logs: .*; 1 expectation met; 2 problems$/),
      '',
    ]);
  });

  test('a log that nobody reads, under a name that would move the cursor', async () => {
    const folder = join(temporaryFolder(), 'a\u001b[2Jb\nc');
    cpSync(join(FIXTURES, 'formats', 'graph'), folder, { recursive: true });
    writeFileSync(join(folder, 'second.log'), readFixture('formats/default-run/stdout.log.br'));
    const { code, stdout } = await check(join(folder, '..'));
    expect(code).toBe(1);
    const text = 'a\\u001b[2Jb\\nc/second.log:1: trtexec speaks in this file, but it is not taken for a log\n';
    expect(stdout).toContain(text);
  });
});

describe('what the checker sees', () => {
  const NAMES = ['formats/percentiles-odd', 'formats/build-and-run-default', 'formats/profile-separate'];

  test.each(NAMES)('%s: any other, missing or additional value', async (name) => {
    const { run, facts } = await bothReadings(name);
    const claims = claimsOf(run);
    expect(compareFacts(facts, claims)).toMatchObject({ differences: [] });
    expect(claims.size).toBeGreaterThan(100);
    for (const [key, value] of claims) {
      const changed = typeof value === 'number' ? value * (1 + 1e-6) + 1e-9 : `${value}x`;
      for (const doctored of [new Map([...claims, [key, changed]]), new Map(claims)]) {
        if (doctored.get(key) === value) doctored.delete(key);
        const { differences } = compareFacts(facts, doctored);
        expect(differences.map(({ what }) => what)).toEqual([expect.stringContaining(key)]);
      }
    }
    expect(compareFacts(facts, new Map([...claims, ['latencyMs.p99.99', 1]])).differences).toHaveLength(1);
  });

  test('the last digit that the parser misreads, and derived values that do not follow from the log', async () => {
    const { run, facts } = await bothReadings('formats/default-run');
    expect(compareRun(run, facts, null).differences).toEqual([]);
    const { measurement } = run.log;
    if (measurement === null) throw new Error('a measured run');
    const gpuComputeMs = { ...measurement.gpuComputeMs, median: 0.239867 };
    const log = { ...run.log, measurement: { ...measurement, gpuComputeMs } };
    const what = `gpuComputeMs.median, of the parser – expected "${measurement.gpuComputeMs.median}", got 0.239867`;
    expect(compareRun({ ...run, log }, facts, null).differences).toEqual([{ line: 488, what }]);
    const { differences } = compareRun({ ...run, derived: { ...run.derived, gpuBusy: 1, queries: 3 } }, facts, null);
    expect(differences.map((one) => one.what.split(',')[0])).toEqual(['queries', 'gpuBusy']);
  });

  test('a quoted line that says something else, and an error that was overlooked', async () => {
    const { run, runs, text } = await bothReadings('failures/engine-missing');
    expect(compareQuotes(runs, text).differences).toEqual([]);
    const log = { ...run.log, errors: run.log.errors.slice(1) };
    const [first, ...others] = run.outcome.evidence;
    if (first === undefined) throw new Error('a failure has evidence');
    const evidence = [{ ...first, text: 'not in the log' }, ...others];
    expect(compareQuotes([{ ...run, log, outcome: { ...run.outcome, evidence } }], text).differences).toHaveLength(2);
  });

  test('a store that holds another number, another outcome, another sample', async () => {
    const folder = temporaryFolder();
    const name = 'gpu-contended/vit_small.fp8.b8.graph0';
    const store = join(folder, 'bench.sqlite');
    await bench(['import', join(FIXTURES, name), '--db', store]);
    const { run, facts, files } = await bothReadings(name);
    const runJson = readFileSync(join(FIXTURES, name, 'run.json'), 'utf8');
    const look = async () => {
      const reader = new StoreReader(store);
      const stored = reader.run(run.contentId);
      reader.close();
      if (stored === null) throw new Error('not stored');
      const exports = await checkExports(files, runJson, facts, run, stored);
      const numbers = compareStored(stored, facts).differences.map(({ what }) => what);
      return { found: [...numbers, ...storedDifferences(stored, run), ...exports.problems], samples: exports.samples };
    };
    const before = await look();
    expect(before.found).toEqual([]);
    expect(before.samples).toBeGreaterThan(1000);
    const db = new Database(store);
    for (const [change, what] of [
      [
        `UPDATE time_statistics SET percentiles = json_set(percentiles, '$."95"', json_extract(percentiles, '$."95"') + 1e-9) WHERE metric = 'h2d'`,
        'h2dMs.p95',
      ],
      ['UPDATE measurements SET throughput_qps = throughput_qps * 2', 'throughputQps'],
      [`UPDATE runs SET outcome = 'measured'`, 'outcome'],
      ['DELETE FROM samples', 'number of samples'],
    ] as const) {
      const known = new Set((await look()).found.map((problem) => JSON.stringify(problem)));
      db.exec(change);
      const news = (await look()).found.filter((problem) => !known.has(JSON.stringify(problem)));
      expect(JSON.stringify(news)).toContain(what);
    }
    db.close();
  });

  test('a row of the exported times that differs in the last place', async () => {
    const name = 'gpu-contended/vit_small.fp8.b8.graph0';
    const { run, facts } = await bothReadings(name);
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'a'));
    const path = join(folder, 'times.json');
    const rows = readFixture(`${name}/times.json.br`).toString().split('\n');
    const changed = rows.map((row, index) => (index === 7 ? row.replace(/"latencyMs" : [\d.]+/, '$&1') : row));
    writeFileSync(path, changed.join('\n'));
    const { problems } = await checkExports(new Map([['times.json', path]]), null, facts, run, null);
    expect(problems).toMatchObject([{ path, what: expect.stringContaining('latencyMs of row 7') }]);
  });
});
