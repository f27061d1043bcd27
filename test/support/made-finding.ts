import type { Finding } from '../../src/records/finding.ts';
import { sweepOfNight } from './simulated-store.ts';

/** An open change for the worse that the sweep of a simulated night reported, and began. */
export const madeFinding = (findingId: string, reported: number, more: Partial<Finding> = {}): Finding => ({
  findingId: findingId.padEnd(32, '0'),
  kind: 'change',
  isWarning: false,
  provenance: 'simulated',
  branch: 'main',
  matrix: 'nightly',
  direction: 'slower',
  state: 'open',
  group: [],
  lasts: null,
  cause: null,
  environmentChanges: [],
  pairs: null,
  lastGoodSweepId: sweepOfNight(reported - 1),
  firstBadSweepId: sweepOfNight(reported),
  lastBadSweepId: null,
  reportedSweepId: sweepOfNight(reported),
  owner: null,
  cells: [],
  ...more,
});
