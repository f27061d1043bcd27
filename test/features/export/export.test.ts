import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { queryStore } from '../../support/store-dump.ts';

interface ChromeEvent {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: Readonly<Record<string, string | number>>;
}

const FILTER = 'model=vit_small & precision=fp8 & batch=8 & cudaGraph=on';
const CELL = [join(ROOT, 'matrices', 'quickstart.yaml'), '--filter', FILTER];

describe('recorded runs of a H200', () => {
  const cwd = sharedFolder();
  const ids = new Map<string, string>();

  beforeAll(async () => {
    const { code, stderr } = await bench(['run', ...CELL, '--profile'], { cwd });
    if (code !== 0) throw new Error(stderr);
    const runs = 'SELECT run_id AS id, role FROM runs';
    for (const { id, role } of queryStore<{ id: string; role: string }>(join(cwd, 'bench.sqlite'), runs))
      ids.set(role, id);
  }, 60_000);

  const run = (role: string): string => ids.get(role) ?? '';

  const chrome = async (role: string): Promise<ChromeEvent[]> =>
    JSON.parse((await bench(['export', run(role), '--format', 'chrome-trace'], { cwd })).stdout).traceEvents;

  test('the queries of a run on four tracks, to the stamp, and the layers of its engine', async () => {
    const events = await chrome('timed');
    const samples = await bench(['show', run('timed'), '--samples', '--json'], { cwd });
    const columns: Record<string, number[]> = JSON.parse(samples.stdout);
    const trackNames = events
      .filter(({ name, ph }) => ph === 'M' && name === 'thread_name')
      .map(({ args }) => args['name']);
    expect(trackNames).toEqual(['enqueue (host)', 'H2D copy', 'GPU compute', 'D2H copy', 'mean time of each layer']);
    const compute = events.filter(({ name, ph }) => ph === 'X' && name === 'GPU compute');
    expect(compute).toHaveLength(1225);
    compute.forEach(({ args, dur, ts }, query) => {
      expect([args['query'], ts]).toEqual([query, expect.closeTo((columns['startComputeMs']?.[query] ?? 0) * 1000, 2)]);
      // Where the next stamp is rounded down the slice ends with it.
      const exact = (columns['computeMs']?.[query] ?? 0) * 1000;
      expect(dur).toBeLessThanOrEqual(exact + 0.001);
      expect(dur).toBeGreaterThan(exact - 20);
    });
    const layers = events.filter(({ ph, pid }) => ph === 'X' && pid === 2);
    expect([layers.length, layers[0]?.ts]).toEqual([190, 0]);
    const pattern = /^layers: means of \d+ profiled queries of run [0-9a-f]{8} \(recorded\), no timeline$/;
    expect(events.find(({ name, pid }) => name === 'process_name' && pid === 2)?.args['name']).toMatch(pattern);
    // No slice begins before the one before it on its track has ended.
    const ends = new Map<string, number>();
    for (const { dur, ph, pid, tid, ts } of events) {
      if (ph !== 'X') continue;
      const track = `${pid} ${tid}`;
      expect(ts).toBeGreaterThanOrEqual((ends.get(track) ?? 0) - 0.002);
      ends.set(track, ts + dur);
    }
  });

  test('--json says what was written to a file', async () => {
    const args = ['export', run('timed'), '--output', 'run.json', '--json'];
    const said = OUTPUTS.export.parse(JSON.parse((await bench(args, { cwd })).stdout));
    const bytes = readFileSync(join(cwd, 'run.json'));
    const slices = (await chrome('timed')).filter(({ ph }) => ph === 'X');
    expect([said.bytes, said.slices]).toEqual([bytes.length, slices.length]);
  });

  test.each([
    [
      ['build'],
      /^bench: run \w{8} \(build\) has neither start times of single queries \(exportTimes in the matrix\) nor times of layers \(bench run --profile\)$/,
    ],
    [['timed', '--json'], /^bench: only one thing can go to standard output/],
    [['timed', '--output', 'no/t.json'], /^bench: no\/t\.json cannot be written: the folder does not exist/],
    [['timed', '--output', 't.json', '--redact'], /^bench: --redact hides names in what is printed/],
  ])('wrong use is one line: %j', async ([role = '', ...args], line) => {
    const { code, stderr, stdout } = await bench(['export', ids.get(role) ?? role, ...args], { cwd });
    expect([code === 2 || code === 3, stdout, stderr.split('\n').length]).toEqual([true, '', 2]);
    expect(stderr.trimEnd()).toMatch(line);
  });
});
