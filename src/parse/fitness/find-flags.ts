import type { RunFlag } from '../../domain/run-flag.ts';
import { bimodal } from './bimodal.ts';
import { hardwareSlowdown, powerLimited, thermalSlowdown } from './clocks.ts';
import { coarseTimer } from './coarse-timer.ts';
import { contended } from './contended.ts';
import { debugTensors } from './debug-tensors.ts';
import { drifting } from './drifting.ts';
import { computeTimesOf, type FitnessFacts, hasOneStream } from './facts.ts';
import { hostBound } from './host-bound.ts';
import { hostLoaded, pcieReduced } from './machine.ts';

/** What the machine alone says of a run of another harness, whose times nobody knows one by one. */
export function findMachineFlags(facts: FitnessFacts): RunFlag[] {
  return [
    thermalSlowdown(facts),
    hardwareSlowdown(facts),
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
