import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { roleOf } from '../../../src/artefacts/read/identify.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';
import { OUTPUTS, benchJson } from '../../support/outputs.ts';
import { imageCell } from '../../support/image-cell.ts';

/** A copy of a recorded folder under another name, with the files that are named. */
function copyOf(recording: string, name: string, parent = temporaryFolder()): string {
  const folder = join(parent, name);
  mkdirSync(parent, { recursive: true });
  cpSync(join(FIXTURES, recording), folder, { recursive: true });
  return folder;
}

async function onlyRead(folder: string) {
  const [run, ...more] = await readRunFolder(folder);
  if (run === undefined || more.length > 0) throw new Error(`${folder}: not one run`);
  return run;
}

describe('runs that profile', () => {
  test('with --separateProfileRun the times are those of the run without the profiler, and count', async () => {
    const parent = temporaryFolder();
    const folders = ['a', 'b'].map((night) => {
      const folder = copyOf('formats/profile-separate', 'run', join(parent, night));
      const log = readFixture('formats/profile-separate/stdout.log.br').toString();
      writeFileSync(join(folder, 'stdout.log'), `${log}${night}\n`);
      return join(parent, night);
    });
    const db = join(parent, 'b.sqlite');
    for (const folder of folders) await bench(['import', folder, '--db', db]);
    const { cells } = JSON.parse((await bench(['compare', '--json', '--db', db])).stdout);
    expect([cells, cells[0].base]).toMatchObject([[{ runs: [1, 1] }], expect.closeTo(0.238403, 12)]);
  });

  test('without it the times are those of the profiler, and `compare` says why they do not count', async () => {
    const run = await onlyRead(join(FIXTURES, 'formats', 'profile-combined'));
    expect([roleOf(run), run.outcome]).toMatchObject(['profile', { reason: 'summaryHidden' }]);
    const parent = temporaryFolder();
    const db = join(parent, 'b.sqlite');
    for (const night of ['a', 'b']) {
      writeFileSync(join(copyOf('formats/profile-combined', 'run', join(parent, night)), 'stderr.log'), night);
      await bench(['import', join(parent, night), '--db', db]);
    }
    const { stdout } = await bench(['compare', 'latest~1', 'latest', '--json', '--db', db]);
    const why = 'only runs that were timed with a profiler attached, whose times do not count';
    expect(JSON.parse(stdout).cells).toMatchObject([{ verdict: 'failed', reasons: [`base: ${why}`, `head: ${why}`] }]);
  });

  test('a profile that was left beside a run without a profiler does not make it one', async () => {
    const folder = copyOf('formats/default-run', 'run');
    cpSync(join(FIXTURES, 'formats/profile-separate/profile.json.br'), join(folder, 'profile.json.br'));
    expect(roleOf(await onlyRead(folder))).toBe('timed');
  });
});

describe('exports of another run', () => {
  const RECORDING = 'formats/enqueue-bound';
  const rows: Record<string, number>[] = JSON.parse(readFixture(`${RECORDING}/times.json.br`).toString());

  function withTimes(times: unknown): string {
    const folder = copyOf(RECORDING, 'run');
    rmSync(join(folder, 'times.json.br'));
    writeFileSync(join(folder, 'times.json'), JSON.stringify(times));
    return folder;
  }

  test('times of the right count but of other queries', async () => {
    const doubled = rows.map((row) => ({ ...row, computeMs: (row['computeMs'] ?? 0) * 2 }));
    const { outcome, exports } = await onlyRead(withTimes(doubled));
    expect(outcome).toMatchObject({ kind: 'unfit', reason: 'exportMissing' });
    const text = /^--exportTimes: times.json is damaged: their median is [\d.]+ ms, that of the summary/;
    expect(outcome.evidence[0]?.text).toMatch(text);
    expect([exports.times, (await onlyRead(withTimes(rows))).outcome.kind]).toEqual([null, 'measured']);
  });

  test('surplus rows are warm-up up to 8.4 only', async () => {
    const more = [...rows.slice(0, 10), ...rows];
    expect(await onlyRead(withTimes(more))).toMatchObject({ outcome: { kind: 'unfit', reason: 'exportMissing' } });
    const folder = withTimes(more);
    const log = readFixture(`${RECORDING}/stdout.log.br`).toString();
    rmSync(join(folder, 'stdout.log.br'));
    writeFileSync(join(folder, 'stdout.log'), log.replaceAll('TensorRT v100600', 'TensorRT v8401'));
    expect((await onlyRead(folder)).exports.times?.count).toBe(rows.length);
  });
});

describe('exports that lack', () => {
  test.each(['run0', 'profile-combined', 'a copy'])(
    'one that was left out of a copy is a note, whatever its folder is called: %s',
    async (name) => {
      const run = await onlyRead(copyOf('formats/profile-combined', name));
      expect(run.exports).toMatchObject({ missing: [], omitted: ['times.json'] });
    },
  );

  test.each(['export-times-missing-dir', 'export-times-dev-full', 'export-layers-missing-dir'])(
    'one that was never written is the reason, whatever its folder is called: %s',
    async (name) => {
      for (const folderName of ['nowhere', 'run0']) {
        const { outcome } = await onlyRead(copyOf(`failures/${name}`, folderName));
        expect(outcome).toMatchObject({ kind: 'unfit', reason: 'exportMissing' });
      }
    },
  );
});

/** Of `pairs/vit_small.fp16/level2/b8.graph1/01-normal`, as bench itself would write it. */
const { key: _key, ...PAIR_CELL } = imageCell({ model: 'vit_small', precision: 'fp16', batch: 8, dataTransfers: true });

describe('a cell in run.json', () => {
  const from = join(FIXTURES, 'pairs', 'vit_small.fp16', 'level2', 'b8.graph1', '01-normal');

  async function withCell(cell: object): Promise<string> {
    const folder = join(temporaryFolder(), 'run');
    cpSync(from, folder, { recursive: true });
    const { argv } = (await onlyRead(folder)).manifest;
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ schemaVersion: 1, argv, cell }));
    return folder;
  }

  test.each([
    [{ shapes: { input: [32, 3, 224, 224] } }, 'requested input:32x3x224x224, but it ran with 8x3x224x224'],
    [{ cudaGraph: false }, 'requested CUDA graph: false, but the banner says true'],
    [{ streams: 4 }, 'requested streams: 4, but the banner says 1'],
  ])('that its log contradicts makes the run unfit: %j', async (wrong, text) => {
    const { outcome } = await onlyRead(await withCell({ ...PAIR_CELL, ...wrong }));
    const evidence = [expect.objectContaining({ text })];
    expect(outcome).toEqual({ kind: 'unfit', reason: 'optionsDiffer', evidence });
  });

  test('of the loose form as well; one that is right, or says less, counts', async () => {
    const loose = { model: 'vit_small', shapes: { input: [4, 3, 224, 224] } };
    expect((await onlyRead(await withCell(loose))).outcome).toMatchObject({ reason: 'optionsDiffer' });
    for (const cell of [PAIR_CELL, { ...PAIR_CELL, cudaGraph: null }, { model: 'vit_small' }]) {
      expect((await onlyRead(await withCell(cell))).outcome.kind).toBe('measured');
    }
  });
});

describe('engines of imported runs', () => {
  const LEVELS = 'pairs/vit_small.fp16/level2/b8.graph1';
  const TIMED = join(FIXTURES, LEVELS);

  test('two in one cell are said, and never taken for one', async () => {
    const db = join(temporaryFolder(), 'b.sqlite');
    const paths = ['engines/vit_small.fp16.level2.plan', 'engines/vit_small.fp16.plan'];
    const words = /^note: 2 engines in one cell of sweep \w{8}, vit_small fp16 8x3x224x224 graph transfers: (.*); /;
    const expectSaid = (stderr: string) => expect(words.exec(stderr)?.[1]).toBe(paths.join(', '));
    expectSaid((await bench(['import', TIMED, '--sweep', 'both', '--db', db])).stderr);
    expectSaid((await bench(['show', 'both', '--db', db])).stderr);
  });

  test('two logs of engines with other names: compare says why nothing is on both sides', async () => {
    const folder = temporaryFolder();
    for (const name of ['normal', 'level2']) {
      cpSync(join(TIMED, `01-${name}`, 'stdout.log.br'), join(folder, `${name}.log.br`));
    }
    const compared = (...args: string[]) => benchJson(OUTPUTS.compare, ['compare', ...args], { cwd: folder });
    const note =
      /^on one side only: vit_small\.fp16, vit_small\.fp16\.level2; .*`bench import` each with the same --model/;
    expect(await compared('normal.log.br', 'level2.log.br')).toMatchObject({
      code: 4,
      json: { base: { note: expect.stringMatching(note) } },
    });
    expect((await compared('normal.log.br', 'normal.log.br')).json.base.note).toBeNull();
    const both = ['normal', 'level2'].map((name) => readFixture(`${LEVELS}/01-${name}/stdout.log.br`));
    writeFileSync(join(folder, 'both.log'), Buffer.concat(both));
    const { json } = await compared('both.log', 'normal.log.br');
    const line = `on one side only: vit_small.fp16.level2; what both have: --filter 'model=vit_small.fp16'`;
    expect(json).toMatchObject({ base: { note: expect.stringContaining(line) }, cells: { length: 2 } });
    const filtered = await compared('both.log', 'normal.log.br', '--filter', 'model=vit_small.fp16');
    expect(filtered.json.cells).toMatchObject([{ runs: [1, 1] }]);
  });
});
