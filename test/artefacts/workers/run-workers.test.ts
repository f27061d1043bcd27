import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { describe, expect, test } from 'vitest';

import type { RunSource } from '../../../src/artefacts/read/recognise.ts';
import { NOTHING_STATED } from '../../../src/artefacts/read/read-standalone.ts';
import { emptyManifest } from '../../../src/artefacts/run-manifest.ts';
import { type RunWork, workHere } from '../../../src/artefacts/workers/run-work.ts';
import { RunWorkers, workOn } from '../../../src/artefacts/workers/run-workers.ts';
import { bench, ROOT, temporaryFolder } from '../../support/bench.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';

const WORKER = join(ROOT, 'dist', 'run-worker.js');
const never = new AbortController().signal;
const formats = join(FIXTURES, 'formats');
const sources: RunSource[] = readdirSync(formats, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => ({ kind: 'folder', path: join(formats, name) }));

const reading = (work: RunWork, source: RunSource) => work.read(source, NOTHING_STATED);

/** What a thread does that runs this. */
function worker(script: string): string {
  const file = join(temporaryFolder(), 'worker.mjs');
  writeFileSync(file, `import { parentPort } from 'node:worker_threads';\n${script}\n`);
  return file;
}

test('every recorded run comes from another thread as it is read in this one', async () => {
  await using workers = new RunWorkers(WORKER, 2, workHere(never), never);
  const [theirs, own] = await Promise.all(
    [workers, workHere(never)].map((work) => Promise.all(sources.map((source) => reading(work, source)))),
  );
  expect(sources.length).toBeGreaterThan(20);
  // Prototypes count: a name of a log must not be found in one.
  expect(isDeepStrictEqual(theirs, own)).toBe(true);
});

test('what is kept by another thread is what is kept by this one', async () => {
  const folder = temporaryFolder();
  await using workers = new RunWorkers(WORKER, 1, workHere(never), never);
  const files = new Map(
    readdirSync(join(formats, 'enqueue-bound')).map((name) => [join(formats, 'enqueue-bound', name), name]),
  );
  for (const [name, work] of Object.entries({ theirs: workers, own: workHere(never) })) {
    mkdirSync(join(folder, name));
    await work.keep(join(folder, name, 'run'), files, emptyManifest());
  }
  const contents = (name: string) =>
    readdirSync(join(folder, name, 'run')).map((file) => [file, readFileSync(join(folder, name, 'run', file), 'hex')]);
  expect(contents('theirs')).toHaveLength(files.size + 1);
  expect(contents('theirs')).toEqual(contents('own'));
});

test('a file that cannot be read is refused in the same words', async () => {
  await using workers = new RunWorkers(WORKER, 1, workHere(never), never);
  const report: RunSource = { kind: 'report', path: join(temporaryFolder(), 'none.json'), driver: 'torch-bench' };
  const said = async (work: RunWork): Promise<unknown> => reading(work, report).catch((error: unknown) => error);
  expect(await said(workers)).toEqual(await said(workHere(never)));
  expect(await said(workers)).toBeInstanceOf(Error);
});

test.each([
  ['throws', `parentPort.on('message', () => { throw new Error('broken'); });`],
  ['ends', `parentPort.on('message', () => process.exit(3));`],
  ['cannot begin', `import './not-there.js';`],
  ['says that it failed', `parentPort.on('message', ({ id }) => parentPort.postMessage({ kind: 'failed', id }));`],
])('a thread that %s: the runs are read in this one', async (_, script) => {
  await using workers = new RunWorkers(worker(script), 2, workHere(never), never);
  const some = sources.slice(0, 12);
  const theirs = await Promise.all(some.map((source) => reading(workers, source)));
  const own = await Promise.all(some.map((source) => reading(workHere(never), source)));
  expect(isDeepStrictEqual(theirs, own)).toBe(true);
});

describe('on Ctrl-C', () => {
  test('nobody waits for what is read, nor begins to read', async () => {
    const abort = new AbortController();
    await using workers = new RunWorkers(
      worker(`parentPort.on('message', () => {});`),
      1,
      workHere(abort.signal),
      abort.signal,
    );
    const begun = sources.slice(0, 6).map((source) => reading(workers, source));
    abort.abort('SIGINT');
    const ended = await Promise.allSettled([...begun, reading(workers, sources[0] ?? { kind: 'log', path: '' })]);
    expect(ended).toEqual(Array.from({ length: 7 }, () => ({ status: 'rejected', reason: 'SIGINT' })));
  });

  test('what is kept is kept to its end', async () => {
    const abort = new AbortController();
    const target = join(temporaryFolder(), 'sweep', 'run');
    mkdirSync(join(target, '..'));
    await using workers = new RunWorkers(WORKER, 1, workHere(abort.signal), abort.signal);
    const kept = workers.keep(target, new Map(), emptyManifest());
    abort.abort('SIGINT');
    await kept;
    expect(existsSync(join(target, 'run.json'))).toBe(true);
  });
});

test('few sources, or a package without the worker, are no work for threads', () => {
  expect(workOn(10, WORKER, never)).not.toBeInstanceOf(RunWorkers);
  expect(workOn(1000, join(temporaryFolder(), 'none.js'), never)).not.toBeInstanceOf(RunWorkers);
});

test('an import of many logs stores what two imports of half of them do', async () => {
  const cwd = temporaryFolder();
  const log = readFixture('formats/default-run/stdout.log.br');
  for (let run = 0; run < 120; run += 1) {
    const folder = join(cwd, run < 60 ? 'a' : 'b');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${String(run).padStart(3, '0')}.log`), Buffer.concat([log, Buffer.from(`\n${run}\n`)]));
  }
  const importing = (db: string, ...args: readonly string[]) => bench(['import', ...args, '--db', db], { cwd });
  const { stdout } = await importing('one.sqlite', '.', '--sweep', 'v1');
  await importing('two.sqlite', 'a', '--sweep', 'v1');
  await importing('two.sqlite', 'b', '--into', 'v1');
  expect(stdout).toContain('120 runs stored');
  const rows = (db: string) =>
    queryStore(
      join(cwd, db),
      `SELECT run_id, cell_key, repeat, outcome, started_at, m.throughput_qps, a.name, a.sha256
       FROM runs JOIN measurements m USING (run_id) JOIN artefacts a USING (run_id) ORDER BY repeat`,
    );
  expect(rows('one.sqlite')).toHaveLength(120);
  expect(rows('one.sqlite')).toEqual(rows('two.sqlite'));
}, 60_000);
