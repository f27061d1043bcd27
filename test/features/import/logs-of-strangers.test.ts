import { writeFileSync, cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { bench, temporaryFolder, refusal } from '../../support/bench.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';

/** Of a T4 with TensorRT 8.2, as it stands in a thread; `$` is where a file has its own line. */
const SUMMARY = `[05/17/2022-15:33:49] [I] === Performance summary ===
[05/17/2022-15:33:49] [I] Throughput: 231.086 qps
[05/17/2022-15:33:49] [I] Latency: min = 3.29541 ms, max = 9.36523 ms, mean = 4.41086 ms, median = 4.42065 ms, percentile(99%) = 5.40323 ms
[05/17/2022-15:33:49] [I] Enqueue Time: min = 3.24353 ms, max = 9.43591 ms, mean = 4.12215 ms, median = 4.23169 ms, percentile(99%) = 4.6792 ms
[05/17/2022-15:33:49] [I] H2D Latency: min = 0.101929 ms, max = 0.130371 ms, mean = 0.1091 ms, median = 0.106384 ms, percentile(99%) = 0.123535 ms
[05/17/2022-15:33:49] [I] GPU Compute Time: min = 3.18799 ms, max = 9.24084 ms, mean = 4.29297 ms, median = 4.3064 ms, percentile(99%) = 5.28589 ms
[05/17/2022-15:33:49] [I] D2H Latency: min = 0.00317383 ms, max = 0.0352936 ms, mean = 0.00878103 ms, median = 0.00585938 ms, percentile(99%) = 0.0248108 ms
[05/17/2022-15:33:49] [I] Total Host Walltime: 3.00927 s
[05/17/2022-15:33:49] [I] Total GPU Compute Time: 2.9838 s
`;
const passed = (line: string): string => `${SUMMARY}&&&& PASSED TensorRT.trtexec [TensorRT v8201] # trtexec ${line}\n`;

/** TensorRT 6, `giexec`. */
const OLD = 'Average over 10 runs is 0.664858 ms (host walltime is 0.688763 ms, 99% percentile time is 0.673792).\n';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function cellsOf(cwd: string): Promise<(readonly [model: string, precision: string, runs: number])[]> {
  const { cells } = await jsonOf(OUTPUTS.cells, ['ls', 'cells'], { cwd });
  return cells.map(({ model, precision, measured }) => [model, precision, measured] as const);
}

describe('whose numbers they are', () => {
  test('the model is that of any flag that names one; logs of one name and options are one cell across files and sweeps', async () => {
    const cwd = folderWith({
      'a.log': passed('--deploy=Models/googlenet.prototxt --int8'),
      'b.log': passed('--deploy=Models/resnet-50.prototxt --int8'),
      'c.log': passed('--uff=lenet.uff --fp16'),
      'shapes.log': passed("--uff=lenet.uff  --fp16 --shapes='in:0':4x1,scale:scalar "),
      'stated.log': passed('--uff=lenet.uff --fp16').replaceAll('4.42065', '4.42066'),
      'again.log': passed('--deploy=/other/googlenet.prototxt --int8').replaceAll('4.42065', '4.42066'),
    });
    await bench(['import', 'a.log', 'b.log', 'c.log', 'shapes.log'], { cwd });
    await bench(['import', 'stated.log', '--shapes', 'in:0:4x1,scale:'], { cwd });
    await bench(['import', 'again.log', '--sweep', 'later'], { cwd });
    expect(await cellsOf(cwd)).toEqual([
      ['googlenet', 'int8', 2],
      ['lenet', 'fp16', 2],
      ['lenet', 'fp16', 1],
      ['resnet-50', 'int8', 1],
    ]);
  });

  test('a log that names no precision has none; one that names nothing is a cell of its own, and a note says so', async () => {
    const cwd = folderWith({ 'first.log': SUMMARY, 'second.log': SUMMARY.replaceAll('4.42065', '4.42066') });
    const { stderr } = await bench(['import', 'first.log', 'second.log'], { cwd });
    expect(await cellsOf(cwd)).toEqual([
      ['first', 'unstated', 1],
      ['second', 'unstated', 1],
    ]);
    // The word of the tables chooses these cells, too.
    for (const word of ['precision=unknown', 'unknown']) {
      expect((await jsonOf(OUTPUTS.trend, ['trend', '--filter', word], { cwd })).cells).toHaveLength(2);
    }
    const text = 'names neither a model nor an engine: stored as a separate cell; to name it, remove the sweep';
    expect(stderr).toContain(`first.log and 1 more: ${text}`);
    await bench(['import', 'first.log', '--cuda-graph', 'on', '--db', 'on.sqlite'], { cwd });
    const { cells } = await jsonOf(OUTPUTS.cells, ['ls', 'cells', '--db', 'on.sqlite'], { cwd });
    expect(cells).toMatchObject([{ model: 'first', cudaGraph: true, spinWait: null }]);
  });

  test('notes with a command above each summary are a run each', async () => {
    const notes = ['a', 'b'].map((name) => `## trtexec --fp16\ntrtexec --int8 --onnx=${name}.onnx\n${SUMMARY}`);
    const cwd = folderWith({ 'notes.log': notes.join('') });
    await bench(['import', 'notes.log'], { cwd });
    expect(await cellsOf(cwd)).toEqual([
      ['a', 'int8', 1],
      ['b', 'int8', 1],
    ]);
  });
});

test('a file that nothing can be read of: is left out with a note and exit 4 where it was named with others; alone it is a mistake', async () => {
  const cwd = folderWith({ 'good.log': passed('--onnx=a.onnx'), 'old.log': OLD, 'other.log': 'hello\n' });
  const parsed = await bench(['parse', 'old.log', 'good.log', 'other.log', '--json'], { cwd });
  const expected = [4, { leftOut: { oldTrtexec: 1, other: 1 }, runs: [{ outcome: { kind: 'measured' } }] }];
  expect([parsed.code, JSON.parse(parsed.stdout)]).toMatchObject(expected);
  const text = 'note: old.log: written by trtexec of TensorRT 6 or older, whose averages are not read: left out';
  expect(parsed.stderr).toContain(text);
  const imported = await bench(['import', 'good.log', 'other.log'], { cwd });
  expect([imported.code, imported.stdout]).toEqual([4, expect.stringContaining('1 run stored')]);
  expect(await bench(['import', 'old.log'], { cwd })).toEqual(refusal('TensorRT 6 or older'));
});

test.each(['01/01/1970-00:00:01', '01/01/2099-00:00:01'])(
  '%s is no date of a run: it is not used, and said',
  async (stamp) => {
    const cwd = folderWith({ 'a.log': passed('--onnx=a.onnx').replaceAll('05/17/2022-15:33:49', stamp) });
    const { stderr, stdout } = await bench(['import', 'a.log', '--json'], { cwd });
    expect(JSON.parse(stdout).sweeps).toMatchObject([{ startedAt: null, stored: 1 }]);
    expect(stderr).toMatch(/a\.log, .*: ignored: not a possible date of a TensorRT run/);
  },
);

test('two stores in one folder: what the other one kept of the same content serves both', async () => {
  const cwd = folderWith({ 'a.log': passed('--onnx=a.onnx') });
  for (const [store, date] of [
    ['one.sqlite', '2024-01-02'],
    ['two.sqlite', '2024-03-02'],
  ]) {
    const { code, stdout } = await bench(['import', 'a.log', '--date', date ?? '', '--db', store ?? ''], { cwd });
    expect([code, stdout]).toEqual([0, expect.stringContaining('1 run stored')]);
  }
  expect((await bench(['db', 'verify', '--db', 'two.sqlite'], { cwd })).code).toBe(0);
});

describe('which files are logs', () => {
  const LOG = readFixture('formats/default-run/stdout.log.br');
  const CONTENDED = join(FIXTURES, 'gpu-contended', 'vit_small.fp8.b8.graph0');

  test('a log of the script above the run folders does not hide them', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'stdout.log'), 'starting all runs\n');
    cpSync(CONTENDED, join(folder, 'a', 'b'), { recursive: true });
    expect((await discoverRuns(folder)).map(({ path }) => path)).toEqual([folder, join(folder, 'a', 'b')]);
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
    const damaged = join(folder, 'damaged');
    for (const path of [join(folder, 'good'), damaged]) cpSync(CONTENDED, path, { recursive: true });
    const packed = gzipSync(readFixture('gpu-contended/vit_small.fp8.b8.graph0/times.json.br'));
    rmSync(join(damaged, 'times.json.br'));
    writeFileSync(join(damaged, 'times.json.gz'), packed.subarray(0, packed.length / 2));
    const manifest = gzipSync(readFileSync(join(damaged, 'run.json')));
    mkdirSync(join(folder, 'no-manifest'));
    writeFileSync(join(folder, 'no-manifest', 'run.json.gz'), manifest.subarray(0, 100));
    writeFileSync(join(folder, 'no-manifest', 'stdout.log'), LOG);
    const db = join(folder, 'b.sqlite');
    const stderr = `note: ${join(folder, 'no-manifest')}: run.json was not understood: unexpected end of file; only the files next to it are used\n`;
    expect(await bench(['import', folder, '--db', db])).toMatchObject({ code: 0, stderr });
    expect(queryStore(db, 'SELECT outcome, reason FROM runs ORDER BY outcome, reason')).toEqual([
      { outcome: 'measured', reason: null },
      { outcome: 'unfit', reason: 'contended' },
      { outcome: 'unfit', reason: 'exportMissing' },
    ]);
    const [unfit] = queryStore(db, `SELECT notes FROM runs WHERE reason = 'exportMissing'`);
    expect(unfit).toMatchObject({ notes: expect.stringContaining('times.json.gz can be read only') });
  });
});
