import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';

const LOG = readFixture('formats/default-run/stdout.log.br');
const CONTENDED = join(FIXTURES, 'gpu-contended', 'vit_small.fp8.b8.graph0');

test('a log of the script above the run folders does not hide them', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'stdout.log'), 'starting all runs\n');
  cpSync(CONTENDED, join(folder, 'a', 'b'), { recursive: true });
  const found = await discoverRuns(folder);
  expect(found.map(({ path }) => path)).toEqual([folder, join(folder, 'a', 'b')]);
});

test('the only log of a run folder counts, whatever its name', async () => {
  const folder = temporaryFolder();
  cpSync(join(CONTENDED, 'run.json'), join(folder, 'run.json'));
  writeFileSync(join(folder, 'trtexec.log.gz'), gzipSync(LOG));
  const [run] = await readRunFolder(folder);
  expect(run?.log.measurement?.throughputQps).toBeGreaterThan(0);
  expect(run?.artefacts.map(({ name }) => name)).toEqual(['trtexec.log']);
});

test('logs that were rotated, or have no ending, are found; programs and scripts are not', async () => {
  const folder = temporaryFolder();
  for (const name of ['output', 'run.log.1', 'x.err']) writeFileSync(join(folder, name), LOG);
  writeFileSync(join(folder, 'trtexec'), Buffer.from('\u007fELF\0&&&& RUNNING TensorRT.trtexec'));
  writeFileSync(join(folder, 'check'), "grep -q '&&&& PASSED TensorRT.trtexec' out.log\n");
  const found = await discoverRuns(folder);
  expect(found.map(({ path }) => path.slice(folder.length + 1))).toEqual(['output', 'run.log.1', 'x.err']);
});

test('a damaged archive of an export is named in the notes, and everything else is imported', async () => {
  const folder = temporaryFolder();
  const good = join(folder, 'good');
  const damaged = join(folder, 'damaged');
  for (const path of [good, damaged]) cpSync(CONTENDED, path, { recursive: true });
  const packed = gzipSync(readFixture('gpu-contended/vit_small.fp8.b8.graph0/times.json.br'));
  rmSync(join(damaged, 'times.json.br'));
  writeFileSync(join(damaged, 'times.json.gz'), packed.subarray(0, packed.length / 2));
  const manifest = gzipSync(readFileSync(join(damaged, 'run.json')));
  mkdirSync(join(folder, 'no-manifest'));
  writeFileSync(join(folder, 'no-manifest', 'run.json.gz'), manifest.subarray(0, 100));
  writeFileSync(join(folder, 'no-manifest', 'stdout.log'), LOG);
  const db = join(folder, 'b.sqlite');
  const { code, stderr } = await bench(['import', folder, '--db', db]);
  expect(code).toBe(0);
  expect(stderr).toBe(
    `note: ${join(folder, 'no-manifest')}: run.json was not understood: unexpected end of file; the files next to it count alone\n`,
  );
  expect(queryStore(db, 'SELECT outcome, reason FROM runs ORDER BY outcome, reason')).toEqual([
    { outcome: 'measured', reason: null },
    { outcome: 'unfit', reason: 'contended' },
    { outcome: 'unfit', reason: 'exportMissing' },
  ]);
  const [unfit] = queryStore(db, `SELECT notes FROM runs WHERE reason = 'exportMissing'`);
  expect(unfit).toMatchObject({ notes: expect.stringContaining('times.json.gz can be read only') });
});
