import type { Benchmark, Row, Target } from '../row.ts';
import { milliseconds } from '../timing.ts';
import { type Comparison, compareDetectors } from './comparison.ts';

/** Our detectors on the packed data, beside what they must reach; `compare.ts` has the peers. */
export const detection: Benchmark = {
  name: 'detection',
  run: async () => rowsOf(await compareDetectors({ seed: null, peers: false, peerNights: false })),
};

const LIMITS = { shortMs: 0.2, longMs: 60 } as const;

function rowsOf({ detectors, deciders, times }: Comparison): Row[] {
  const [detector] = detectors;
  const [decider] = deciders;
  const nightly = detector?.nightly ?? null;
  if (detector === undefined || nightly === null || decider === undefined) {
    throw new Error('nothing was scored');
  }
  return [
    scoreRow('histories seen whole', detector.whole.f1, 0.93),
    scoreRow('night by night', nightly.f1, 0.9),
    scoreRow('two commits', decider.score.f1, 0.95),
    timeRow('180 nights without a change', times.short[0], LIMITS.shortMs),
    timeRow('180 nights with changes', times.short[1], LIMITS.shortMs),
    timeRow('5000 nights without a change', times.long[0], LIMITS.longMs),
    timeRow('5000 nights with changes', times.long[1], LIMITS.longMs),
  ];
}

function scoreRow(what: string, f1: number, least: number): Row {
  const [ours, theirs] = [f1, least].map((score) => `F1 ${score.toFixed(3)}`);
  return row(what, f1 / least, { atLeast: 1 }, ours ?? '', theirs ?? '');
}

function timeRow(what: string, timeMs: number, mostMs: number): Row {
  return row(what, timeMs / mostMs, { atMost: 1 }, milliseconds(timeMs), milliseconds(mostMs));
}

function row(what: string, ratio: number, target: Target, ours: string, theirs: string): Row {
  return { kind: 'measured', what, against: 'what it must reach', ratio, unit: '×', target, ours, theirs };
}
