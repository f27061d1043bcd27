import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

import { describe, expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { outcomeReason } from '../../../src/records/outcome.ts';
import type { RunFlag } from '../../../src/records/run-flag.ts';
import type { RunTelemetry } from '../../../src/records/telemetry.ts';
import { median } from '../../../src/statistics/median.ts';
import { findFlags } from '../../../src/trtexec/fitness/find-flags.ts';
import { derive } from '../../../src/trtexec/log/derived.ts';
import { ROOT } from '../../support/bench.ts';
import { NO_TELEMETRY } from '../../support/fitness-facts.ts';
import { FIXTURES, recordedRun } from '../../support/recordings.ts';

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

test('all 12 cells beside another process are contended, and no measurement', async () => {
  const runs = await runsIn(join(FIXTURES, 'gpu-contended'));
  expect(runs).toHaveLength(12);
  for (const { flags, outcome } of runs) {
    expect(flags.map(named)).toEqual(['contended excluded']);
    expect(outcome).toBe('unfit:contended');
    // Two processes that take turns: each gets somewhat less than half.
    expect(flags[0]?.value).toBeGreaterThan(115);
    expect(flags[0]?.value).toBeLessThan(125);
    expect(flags[0]?.evidence).toContain('1.5 times the undisturbed');
  }
});

test('and so their logs say without the single queries', async () => {
  const sources = await discoverRuns(join(FIXTURES, 'gpu-contended'));
  for (const { path } of sources) {
    const log = recordedRun(path.slice(FIXTURES.length + 1));
    const derived = derive(log, null);
    const flags = findFlags({ log, derived, times: null, telemetry: null, machine: {} });
    expect([path, flags.map(named)]).toEqual([path, ['contended excluded']]);
  }
});

test('without CPUs it is the host and not the engine: measured, with how busy the GPU was', async () => {
  const runs = await runsIn(join(FIXTURES, 'cpu-contended'));
  const found = runs.map(({ path, outcome, flags }) => [
    path.split('.').slice(-2).join('.'),
    outcome,
    flags.map(named),
    Number(flags[0]?.value?.toFixed(3)),
  ]);
  const flag = ['hostBound widened'];
  expect(found.toSorted()).toEqual([
    ['b1.graph0', 'measured:null', flag, 0.669],
    ['b1.graph1', 'measured:null', flag, 0.508],
    ['b8.graph0', 'measured:null', flag, 0.822],
    ['b8.graph1', 'measured:null', flag, 0.572],
  ]);
  expect(runs.map(({ flags }) => flags[0]?.evidence)).toContain(
    'GPU idle 49 % of the time, 49 % in 126 stalls between queries',
  );
});

test('no alarm on any undisturbed recording; launches that take longer than the network are said where they were', async () => {
  const found: [string, string, string | undefined][] = [];
  for (const folder of [join(ROOT, 'recordings'), join(FIXTURES, 'level0')]) {
    const runs = await runsIn(folder);
    expect(runs.length).toBeGreaterThan(0);
    for (const { path, flags } of runs) {
      for (const flag of flags) found.push([path.split(sep).slice(-2).join('/'), named(flag), flag.evidence]);
    }
  }
  expect(found.toSorted()).toEqual([
    [
      'h100/resnet.fp8.level3.b1.graph0_2',
      'hostBound explained',
      'GPU idle 5.4 % of the time, enqueue takes 0.92 times the GPU time',
    ],
    [
      'h100/vit.fp16.level3.b1.graph0_1',
      'hostBound explained',
      'GPU idle 5.2 % of the time, enqueue takes 1.00 times the GPU time',
    ],
    [
      'h100/vit.fp16.level3.b1.graph0_2',
      'hostBound explained',
      'GPU idle 5.5 % of the time, enqueue takes 1.00 times the GPU time',
    ],
    ['h200/vit.fp8.level1.b1.graph0_2', 'bimodal explained', '64 % of queries at 0.938 ms, the others at 0.724 ms'],
    [
      'h200/vit.fp8.level1.b1.graph0_2',
      'drifting widened',
      'the last quarter of the queries is 24.0 % faster than the first',
    ],
    [
      'h200/vit.fp8.level1.b1.graph0_2',
      'hostJitter explained',
      '1.8 % of the queries took more than 1.5 times the undisturbed 0.717 ms, and were enqueued slowly',
    ],
  ]);
});

test('of the formats only what is so: tiny networks are bound by their launches and show the timer', async () => {
  const runs = await runsIn(join(FIXTURES, 'formats'));
  for (const { path, flags } of runs) {
    for (const flag of flags) {
      expect([path, named(flag)]).toEqual([
        path,
        flag.id === 'hostBound' ? 'hostBound explained' : 'coarseTimer widened',
      ]);
    }
  }
  const bound = runs.filter(({ flags }) => flags.some(({ id }) => id === 'hostBound'));
  const hinted = await Promise.all(bound.map(({ path }) => readRunFolder(path)));
  // trtexec says so too.
  for (const [run] of hinted) {
    expect(run?.log.hints.map(({ id }) => id)).toContain('enqueue_bound');
  }
  const sleeping = runs.find(({ path }) => path.endsWith('sleep-idle'));
  expect(sleeping?.flags).toEqual([]);
});

describe('sustained: 20 s at the power cap', () => {
  /** The columns of nvidia-smi's own recording, taken together as bench stores them. */
  function recordedTelemetry(): RunTelemetry {
    const [, ...rows] = readFileSync(join(FIXTURES, 'sustained', 'nvidia-smi-loop.csv'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(', '));
    const working = rows.filter(([, , , , , , utilisation]) => Number.parseInt(utilisation ?? '', 10) > 50);
    const column = (place: number): number[] => working.map((row) => Number.parseFloat(row[place] ?? ''));
    const capped = working.filter((row) => row[8] === 'Active').length;
    return {
      ...NO_TELEMETRY,
      samples: working.length,
      smClockMhz: median(column(2)),
      smClockMinMhz: Math.min(...column(2)),
      powerW: median(column(4)),
      powerMaxW: Math.max(...column(4)),
      powerLimitW: 700,
      temperatureMaxC: Math.max(...column(5)),
      clockReasons: { swPowerCap: capped / working.length },
    };
  }

  test('power-limited, and still measured', async () => {
    const [run] = await readRunFolder(join(FIXTURES, 'sustained'));
    expect(run?.outcome.kind).toBe('measured');
    const log = run?.log ?? recordedRun('sustained');
    const telemetry = recordedTelemetry();
    const flags = findFlags({ log, derived: derive(log, null), times: null, telemetry, machine: {} });
    expect(flags.map(named)).toEqual(['powerLimited explained']);
    expect(flags[0]?.value).toBeGreaterThan(0.95);
    expect(flags[0]?.evidence).toMatch(
      /^software power cap in \d+ % of \d+ samples, 69\d of 700 W, SM clock 18\d\d MHz \(lowest \d+\)$/,
    );
  });
});
