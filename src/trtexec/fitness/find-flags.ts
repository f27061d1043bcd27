import type { HarnessReading } from '../../records/harness.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import { bimodal } from './bimodal.ts';
import { hardwareSlowdown, powerLimited, thermalSlowdown } from './clocks.ts';
import { coarseTimer } from './coarse-timer.ts';
import { contended } from './contended.ts';
import { debugTensors } from './debug-tensors.ts';
import { drifting } from './drifting.ts';
import { computeTimesOf, type FitnessFacts, hasOneStream } from './facts.ts';
import { hostBound } from './host-bound.ts';
import { loneOutlier } from './lone-outlier.ts';
import { hostLoaded, pcieReduced } from './machine.ts';

/** What is known of a run of another harness, whose times nobody knows one by one. */
export function findHarnessFlags(facts: FitnessFacts, reading: HarnessReading | null): RunFlag[] {
  return [
    thermalSlowdown(facts),
    hardwareSlowdown(facts),
    reading === null ? null : loneOutlier(reading),
    powerLimited(facts),
    hostLoaded(facts),
    pcieReduced(facts),
  ].filter((flag) => flag !== null);
}

/**
 * What may be wrong with the number of a run that did run, or explains it; the weightiest first. None for a run without
 * a measurement.
 */
export function findFlags(facts: FitnessFacts): RunFlag[] {
  if (facts.log.measurement === null) return [];
  const compute = computeTimesOf(facts.times);
  const shared = contended(facts, compute);
  // Time slices and overlapping streams make levels and drifts of their own.
  const alone = hasOneStream(facts) && (shared === null || shared.effect === 'explained');
  const own = alone ? compute : null;
  return [
    debugTensors(facts),
    thermalSlowdown(facts),
    hardwareSlowdown(facts),
    shared,
    hostBound(facts, compute),
    own === null ? null : drifting(own),
    own === null ? null : bimodal(own),
    coarseTimer(facts, compute),
    powerLimited(facts),
    hostLoaded(facts),
    pcieReduced(facts),
  ].filter((flag) => flag !== null);
}
