import { printable } from '../text/printable.ts';
import { FLAG_LABELS, type RunFlag, type RunFlagId } from '../records/run-flag.ts';
import type { Look } from './look.ts';
import { truncate } from './text-width.ts';

/** What to do about each flag. */
const ADVICE: Readonly<Record<RunFlagId, string>> = {
  powerLimited: 'normal for large networks; compare with runs under the same power limit',
  thermalSlowdown: 'let it cool down, look after the cooling, and run again',
  hardwareSlowdown: 'look after power supply and cooling, and run again',
  clockOffLevel: 'run again; lock the clocks with nvidia-smi -lgc where you may',
  drifting: 'raise warmUpMs until the times stand still',
  contended: 'end what else uses the GPU, and run again',
  hostBound: 'keep other work off the CPUs, and run again: the GPU times still count',
  hostJitter: 'use a CUDA graph: without one, GPU times hold the gaps between launches',
  hostLoaded: 'keep other work off the CPUs while runs are timed',
  bimodal: 'look for a clock or a process that comes and goes; run it more often',
  coarseTimer: 'make runs shorter and repeat them, or use a larger batch',
  loneOutlier: 'the medians are not touched; look at more runs before a tail is believed',
  upperBound: 'a limit to compare with, no result: never a baseline, never the best',
  invalidOutput: 'only its speed counts, and what it gives must not be used',
  profilingOn: 'unset the variable and run again: times under a profiler are no baseline',
  debugTensors: 'look at the tensors, and measure without these flags',
  pcieReduced: 'look at slot, riser and BIOS; copies are slower than they need be',
};

/** A cell that is bound by its launches every night. */
const LAUNCH_ADVICE = 'use a CUDA graph or a larger batch';

function adviceOf({ id, effect }: Pick<RunFlag, 'id' | 'effect'>): string {
  return id === 'hostBound' && effect === 'explained' ? LAUNCH_ADVICE : ADVICE[id];
}

/** `contended: 9 % of the queries ...`, and below it what to do. */
export function flagLines(flag: Pick<RunFlag, 'id' | 'effect' | 'evidence'>, look: Look, times = ''): string[] {
  const { columns, style } = look;
  const told = flag.effect === 'explained' ? style.dim : flag.effect === 'barred' ? style.bad : style.warn;
  const text = `  ${FLAG_LABELS[flag.id]}${times}: ${printable(flag.evidence)}`;
  return [told(truncate(text, columns)), style.dim(truncate(`    → ${adviceOf(flag)}`, columns))];
}
