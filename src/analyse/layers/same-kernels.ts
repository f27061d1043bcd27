import type { EngineLayer } from '../../domain/layer-info.ts';
import { stableName } from './layer-name.ts';
import { parseTactic } from './tactic.ts';

/** How two builds of the same engine differ in what they are made of. */
export interface KernelDifference {
  readonly layers: readonly [number, number];
  /** Layers of the same place with another kernel; null when the layers themselves are others. */
  readonly otherKernels: number | null;
}

/**
 * Null when both have the same layers with the same kernels. Numbers in names, and hashes of generated kernels, differ
 * from build to build and prove nothing.
 */
export function kernelDifference(
  a: readonly EngineLayer[],
  b: readonly EngineLayer[],
): KernelDifference | null {
  const layers = [a.length, b.length] as const;
  const isAligned =
    a.length === b.length &&
    a.every(({ name }, place) => stableName(name) === stableName(b[place]?.name ?? ''));
  if (!isAligned) return { layers, otherKernels: null };
  const otherKernels = a.filter(
    ({ tactic }, place) => kernelOf(tactic) !== kernelOf(b[place]?.tactic ?? null),
  ).length;
  return otherKernels === 0 ? null : { layers, otherKernels };
}

function kernelOf(tactic: string | null): string | null {
  return tactic === null ? null : parseTactic(tactic).name;
}
