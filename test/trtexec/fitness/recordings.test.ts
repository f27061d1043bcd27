import { join, sep } from 'node:path';

import { expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { outcomeReason } from '../../../src/records/outcome.ts';
import type { RunFlag } from '../../../src/records/run-flag.ts';
import { ROOT } from '../../support/bench.ts';
import { FIXTURES } from '../../support/recordings.ts';

interface FlaggedRun {
  readonly path: string;
  readonly outcome: string;
  readonly flags: readonly RunFlag[];
}

async function runsIn(folder: string): Promise<FlaggedRun[]> {
  const sources = await discoverRuns(folder);
  const runs = await Promise.all(sources.map(({ path }) => readRunFolder(path)));
  return runs
    .flat()
    .map(({ path, outcome, flags }) => ({ path, outcome: `${outcome.kind}:${outcomeReason(outcome)}`, flags }));
}

const named = ({ id, effect }: RunFlag): string => `${id} ${effect}`;

test('no alarm on any undisturbed recording; launches that take longer than the network are said where they were', async () => {
  const found: string[] = [];
  for (const folder of [join(ROOT, 'recordings'), join(FIXTURES, 'level0')]) {
    const runs = await runsIn(folder);
    expect(runs.length).toBeGreaterThan(0);
    for (const { path, flags } of runs) {
      for (const flag of flags) found.push(`${path.split(sep).slice(-2).join('/')}: ${named(flag)}: ${flag.evidence}`);
    }
  }
  expect(found.toSorted()).toEqual([
    'h100/resnet.fp8.level3.b1.graph0_2: hostBound explained: GPU idle 5.4 % of the time, enqueue takes 0.92 times the GPU time',
    'h100/vit.fp16.level3.b1.graph0_1: hostBound explained: GPU idle 5.2 % of the time, enqueue takes 1.00 times the GPU time',
    'h100/vit.fp16.level3.b1.graph0_2: hostBound explained: GPU idle 5.5 % of the time, enqueue takes 1.00 times the GPU time',
    'h200/vit.fp8.level1.b1.graph0_2: bimodal explained: 64 % of queries at 0.938 ms, the others at 0.724 ms',
    'h200/vit.fp8.level1.b1.graph0_2: drifting widened: the last quarter of the queries is 24.0 % faster than the first',
    'h200/vit.fp8.level1.b1.graph0_2: hostJitter explained: 1.8 % of the queries took more than 1.5 times the undisturbed 0.717 ms, and were enqueued slowly',
  ]);
});

test('of the formats only what is so: tiny networks are bound by their launches and show the timer', async () => {
  const runs = await runsIn(join(FIXTURES, 'formats'));
  const names = new Set(runs.flatMap(({ flags }) => flags.map(named)));
  expect(names).toEqual(new Set(['capture barred', 'hostBound explained', 'coarseTimer widened']));
  const bound = runs.filter(({ flags }) => flags.some(({ id }) => id === 'hostBound'));
  const hinted = await Promise.all(bound.map(({ path }) => readRunFolder(path)));
  // trtexec says so too.
  for (const [run] of hinted) {
    expect(run?.log.hints.map(({ id }) => id)).toContain('enqueue_bound');
  }
  const sleeping = runs.find(({ path }) => path.endsWith('sleep-idle'));
  expect(sleeping?.flags).toEqual([]);
});
