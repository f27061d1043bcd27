import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';

import { beforeAll, describe, expect, test } from 'vitest';

import { TIMED_METRICS } from '../../../src/records/harness.ts';
import { bench, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { storeIn } from '../../support/made-stores.ts';

async function importInto(db: string, path: string): Promise<void> {
  const { code, stderr } = await bench(['import', path, '--db', db]);
  // Some folders hold the runs of two engines.
  const other = stderr.split('\n').filter((line) => !line.startsWith('note: 2 engines in one cell '));
  expect([code, other]).toEqual([0, ['']]);
}

async function imported(path: string): Promise<string> {
  const db = join(temporaryFolder(), 'bench.sqlite');
  await importInto(db, path);
  return db;
}

describe('importing recorded folders', () => {
  const all = join(sharedFolder(), 'bench.sqlite');

  beforeAll(async () => await importInto(all, FIXTURES));

  test('stores every number that the parser reads', async () => {
    const { runs: parsed } = await jsonOf(OUTPUTS.parse, ['parse', FIXTURES]);
    const expected = parsed.flatMap((run) =>
      TIMED_METRICS.flatMap((metric) => {
        if (run[metric] === null) return [];
        const { min, max, mean, median, percentiles } = run[metric];
        const row = [run.throughputQps, metric.replace(/Ms$/, ''), min, max, mean, median, JSON.stringify(percentiles)];
        return [JSON.stringify(row)];
      }),
    );
    const stored = queryStore<{ row: string }>(
      all,
      `SELECT json_array(throughput_qps, metric, min_ms, max_ms, mean_ms, median_ms, percentiles) AS row
       FROM time_statistics JOIN measurements USING (run_id)`,
    ).map(({ row }) => JSON.stringify(JSON.parse(row)));
    expect(stored.toSorted()).toEqual(expected.toSorted());
    expect(expected.length).toBeGreaterThan(150);
  });

  test('wherever the folder lies, it is the same sweep', async () => {
    const copy = join(temporaryFolder(), 'moved');
    cpSync(join(FIXTURES, 'cpu-contended'), copy, { recursive: true });
    const db = await imported(join(FIXTURES, 'cpu-contended'));
    expect((await bench(['import', copy, '--db', db])).stdout).toContain('4 already stored');
    expect(queryStore(db, 'SELECT count(*) AS n FROM sweeps')).toEqual([{ n: 1 }]);
  });

  test('recordings are recorded, bare logs imported', async () => {
    expect(queryStore(all, 'SELECT DISTINCT provenance FROM runs')).toEqual([{ provenance: 'recorded' }]);
    const log = join(temporaryFolder(), 'mine.log');
    writeFileSync(log, readFixture('formats/default-run/stdout.log.br'));
    expect(queryStore(await imported(log), 'SELECT provenance, outcome FROM runs')).toEqual([
      { provenance: 'imported', outcome: 'measured' },
    ]);
  });
});

describe('bare logs', () => {
  const log = readFixture('formats/two-runs-one-log/stdout.log.br');

  test.each([
    ['gz', gzipSync],
    ['zst', zstdCompressSync],
  ])('a damaged .%s is a cut log, and others are imported', async (ending, compress) => {
    const folder = temporaryFolder();
    const whole = compress(readFixture('formats/verbose-run/stdout.log.br'));
    writeFileSync(join(folder, `cut.log.${ending}`), whole.subarray(0, whole.length * 0.7));
    writeFileSync(join(folder, 'good.log'), log);
    const db = join(folder, 'bench.sqlite');
    const { code, stdout } = await bench(['import', folder, '--db', db]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('3 runs stored') });
    expect(queryStore(db, `SELECT reason, notes FROM runs WHERE outcome = 'failed'`)).toMatchObject([
      { reason: 'incomplete', notes: expect.stringContaining('can be read only up to byte') },
    ]);
    expect((await bench(['import', folder, '--db', db])).stdout).toContain('3 already stored');
  });

  test('a run that only the artefacts know is taken as it is, as equal content has an equal id', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'a', 'good.log');
    mkdirSync(join(folder, 'a'));
    writeFileSync(path, log);
    const db = join(folder, 'b.sqlite');
    expect((await bench(['import', path, '--db', db])).code).toBe(0);
    rmSync(db);
    const dated = ['import', path, '--date', '2026-01-01', '--db', db];
    expect([(await bench(dated)).code, queryStore(db, 'SELECT count(*) AS n FROM runs')]).toEqual([0, [{ n: 2 }]]);
  });

  test('a setting for a stored run is ignored, and said so', async () => {
    const folder = temporaryFolder();
    const [path, db] = [join(folder, 'x.log'), join(folder, 'b.sqlite')];
    writeFileSync(path, readFixture('formats/default-run/stdout.log.br'));
    const take = (commit: string, model: string) =>
      bench(['import', path, '--commit', commit, '--model', model, '--db', db]);
    expect((await take('a'.repeat(40), 'vit')).stderr).toBe('');
    const stdout = expect.stringMatching(/0 runs stored in [^]*stored runs stay as they are/);
    expect(await take('b'.repeat(40), 'swin')).toMatchObject({ code: 0, stderr: '', stdout });
  });

  test('a folder with the store alone has nothing to import: its artefacts are named', async () => {
    const cwd = temporaryFolder();
    await storeIn(cwd, 'pair');
    const text = `bench: . contains only the artefacts of this store; to restore lost runs, name the folder in it: bench import ${join(cwd, 'artefacts')}\n`;
    expect(await bench(['import', '.'], { cwd })).toEqual(refusal(text));
  });

  test('a file that says nothing of trtexec is refused, and makes no store', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'other.log');
    writeFileSync(path, 'hello\n');
    const db = join(folder, 'b.sqlite');
    const text = `bench: ${path} contains no results of trtexec or of another harness that bench knows\n`;
    expect([await bench(['import', path, '--db', db]), existsSync(db)]).toEqual([refusal(text), false]);
  });
});
