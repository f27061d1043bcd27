import type { RunFlag } from '../../records/run-flag.ts';
import type { FitnessFacts } from './facts.ts';

/** Load for each CPU from which runnable processes wait for one. */
const LOADED = 1;

/** Other work kept the host's CPUs busy. */
export function hostLoaded({ telemetry }: FitnessFacts): RunFlag | null {
  const load = telemetry?.hostLoad ?? null;
  if (load === null || load < LOADED) return null;
  return {
    id: 'hostLoaded',
    effect: 'explained',
    value: load,
    evidence: `load average of ${load.toFixed(1)} for each CPU`,
  };
}

/** The PCIe link ran below what card and slot can do. */
export function pcieReduced({ telemetry, machine }: FitnessFacts): RunFlag | null {
  const most = /^(\d+) x(\d+)$/.exec(machine.pcieMax ?? '');
  const generation = telemetry?.pcieGeneration ?? null;
  const width = telemetry?.pcieWidth ?? null;
  if (most === null || generation === null || width === null) return null;
  const [mostGeneration, mostWidth] = [Number(most[1]), Number(most[2])];
  if (generation >= mostGeneration && width >= mostWidth) return null;
  return {
    id: 'pcieReduced',
    effect: 'explained',
    // A generation has twice the rate of the one before.
    value: (width / mostWidth) * 2 ** (generation - mostGeneration),
    evidence: `PCIe ${generation} x${width}, ${mostGeneration} x${mostWidth} is possible`,
  };
}
