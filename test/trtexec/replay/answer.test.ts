import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { readRecordingSet } from '../../../src/trtexec/replay/recording-set.ts';
import { ROOT, temporaryFolder } from '../../support/bench.ts';

const RECORDINGS = join(ROOT, 'recordings');
const NIGHT1 = join(RECORDINGS, 'night1');

function replay(args: readonly string[], cwd: string, set = NIGHT1, index = 0) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'dist', 'replay.cjs'), ...args], {
    cwd,
    env: { ...process.env, BENCH_REPLAY_SET: set, BENCH_REPLAY_INDEX: String(index) },
    maxBuffer: 1 << 26,
  });
  return { status, stdout, stderr: stderr.toString() };
}

const packed = (folder: string, file: string, set = NIGHT1): Buffer =>
  brotliDecompressSync(readFileSync(join(set, folder, `${file}.br`)));

const BUILD = [
  '--onnx=/models/vit_small_fp16.onnx',
  '--stronglyTyped',
  '--minShapes=input:1x3x224x224',
  '--optShapes=input:8x3x224x224',
  '--maxShapes=input:32x3x224x224',
  '--saveEngine=vit.plan',
  '--skipInference',
];
const RUN = ['--loadEngine=vit.plan', '--shapes=input:8x3x224x224', '--useSpinWait'];

describe('a replayed trtexec', () => {
  test('builds a small marked token, and gives the log and the exports of the recording to the byte', () => {
    const folder = temporaryFolder();
    const built = replay([...BUILD, '--exportLayerInfo=l.json'], folder);
    expect([built.status, built.stdout.equals(packed('builds_vit_small.fp16', 'stdout.log'))]).toEqual([0, true]);
    expect(readFileSync(join(folder, 'l.json')).equals(packed('builds_vit_small.fp16', 'layers.json'))).toBe(true);
    expect(statSync(join(folder, 'vit.plan')).size).toBeLessThan(200);

    const ran = replay([...RUN, '--useCudaGraph', '--exportTimes=t.json'], folder);
    expect(ran.status).toBe(0);
    expect(ran.stdout.equals(packed('nights_1_vit_small.fp16.b8.graph1', 'stdout.log'))).toBe(true);
  });

  test('gives per-query times to the byte, the n-th recording of a cell for the n-th repeat', () => {
    const pair = join(RECORDINGS, 'pair');
    const folder = temporaryFolder();
    replay(BUILD, folder, pair);
    const written = [0, 1, 2, 3, 4].map((index) => {
      replay([...RUN, '--useCudaGraph', '--exportTimes=t.json'], folder, pair, index);
      return readFileSync(join(folder, 't.json'), 'utf8');
    });
    const recorded = ['01', '02', '03', '04', '05'].map((number) =>
      packed(`pairs_vit_small.fp16_opt32_b8.graph1_${number}-normal`, 'times.json', pair).toString(),
    );
    expect(written.map((text, index) => text === recorded[index])).toEqual([true, true, true, true, true]);
    expect(new Set(written).size).toBe(5);
  });

  test('a cell that was never recorded is an error', () => {
    const folder = temporaryFolder();
    replay(BUILD, folder);
    const stderr = expect.stringMatching(/^replay error: ".*" has 0 of 1 recordings of this timed run\n$/);
    expect(replay([...RUN, '--infStreams=2'], folder)).toMatchObject({ status: 2, stdout: { length: 0 }, stderr });
  });

  test('an engine that is none of its own is refused', () => {
    const folder = temporaryFolder();
    expect(replay(RUN, folder).stderr).toBe('replay error: vit.plan is missing, or not an engine of a replay\n');
    writeFileSync(join(folder, 'vit.plan'), 'ftrt');
    expect(replay(RUN, folder).stderr).toContain('or not an engine of a replay');
    replay(BUILD, folder, join(RECORDINGS, 'pair'));
    expect(replay(RUN, folder).stderr).toContain('was recorded with others');
  });
});

describe('the sets that come with bench', () => {
  const names = readdirSync(RECORDINGS).toSorted();

  test('are at most 4 MB', () => {
    const bytes = readdirSync(RECORDINGS, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
    expect(names).toEqual(['h100', 'h200', 'night1', 'night2', 'pair']);
    expect(bytes).toBeLessThanOrEqual(4_000_000);
  });

  test.each(names)('%s: every recording of the manifest is there and answers its own command line', (name) => {
    const set = readRecordingSet(join(RECORDINGS, name));
    expect(set.name).toBe(name);
    for (const recording of set.recordings) {
      expect(existsSync(join(set.folder, recording.folder, 'run.json'))).toBe(true);
    }
    expect(set.recordings.length).toBeGreaterThan(20);
  });
});
