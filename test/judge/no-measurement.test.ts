import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder, refusal } from '../support/bench.ts';
import { readFixture } from '../support/recordings.ts';

const LOG = readFixture('level0/pairs/vit_small.fp16.b8.graph1/01-normal/stdout.log.br').toString();

/** Its median is above its percentiles: both cannot be right. */
const CONTRADICTING = LOG.replace(/(GPU Compute Time: .*?median = )[\d.]+/, '$19.9');

/** Its numbers are right, but not those of the cell. */
const GRAPHLESS = LOG.replace(
  /^(\[[^\]]*\] )(?=\[I\] Successfully captured CUDA graph)/m,
  '$1[W] The CUDA graph capture on the stream has failed.\n$1',
);

describe('a side whose only run is no measurement', () => {
  const folder = sharedFolder();
  const inStore = (...args: string[]) => bench([...args, '--db', 'bench.sqlite'], { cwd: folder });

  beforeAll(async () => {
    for (const [name, text] of [
      ['good', LOG],
      ['bad', CONTRADICTING],
      ['graphless', GRAPHLESS],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'run.log'), text);
      const said = ['--model', 'vit_small', '--precision', 'fp16', '--branch', 'main'];
      const taken = await inStore('import', name, '--sweep', name, ...said);
      if (taken.code !== 0) throw new Error(taken.stderr);
    }
  });

  test('bench why of one sweep on both sides is refused', async () => {
    const text = /bench: both sides are sweep [0-9a-f]{8}, /;
    expect(await inStore('why', 'vit_small', 'good', 'good')).toEqual(refusal(text));
  });

  const EVIDENCE = 'the median of GPU Compute Time is 9.9 ms, its percentile(90%) 0.417603 ms';

  test.each([
    ['compare', 'good', 'bad'],
    ['compare', 'good', 'bad', '--json'],
    ['check', '--as-of', 'bad'],
    ['check', '--as-of', 'bad', '--json'],
    ['report', 'good', 'bad', '--md', '-'],
    ['report', '--night', '--as-of', 'bad', '--md', '-'],
  ])('the evidence is told once: %s %s %s %s %s %s', async (...args) => {
    const text = (await inStore(...args)).stdout.replace(/\s+/g, ' ');
    expect(text.split(EVIDENCE)).toHaveLength(2);
    expect(text.split(/suspectErrors|it passed, but reported errors/)).toHaveLength(2);
  });

  test.each([
    ['good', 'bad', `no result: head: suspectErrors: ${EVIDENCE}`],
    ['bad', 'good', `failed: GPU compute time 0.4170 ms (base: suspectErrors: ${EVIDENCE})`],
  ])('JUnit of %s and %s', async (base, head, message) => {
    expect((await inStore('report', base, head, '--junit', '-')).stdout.split(`message="${message}"`)).toHaveLength(2);
  });

  test.each([
    ['good', 'bad', 'head'],
    ['bad', 'good', 'base'],
  ])('why of %s and %s answers that the %s has no valid run', async (base, head, side) => {
    const text = `bench: ${side} has no valid run: suspectErrors: ${EVIDENCE}\n`;
    expect(await inStore('why', 'vit_small', base, head)).toEqual(refusal(text));
  });

  test('numbers of a run without its graph are explained, and said to be no measurement', async () => {
    const { code, stdout } = await inStore('why', 'vit_small', 'good', 'graphless', '--json');
    const text = `head has no valid run: graphNotCaptured: The CUDA graph capture on the stream has failed.`;
    expect([code, JSON.parse(stdout).notes]).toEqual([0, [text]]);
  });
});
