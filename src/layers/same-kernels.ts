import type { EngineLayer } from './layer-info.ts';
import { stableName } from './layer-name.ts';
import { parseTactic } from './tactic.ts';

export type BuildKinds = NonNullable<ReturnType<typeof buildKinds>>;

/** @returns null unless the kernels of every build are known: names alone prove nothing */
export function buildKinds(builds: readonly (readonly EngineLayer[] | null)[]) {
  const known = builds.flatMap((layers) => (layers?.some(hasKernel) === true ? [layers] : []));
  const [first] = known;
  if (first === undefined || known.length < builds.length) return null;
  const kinds: (readonly EngineLayer[])[] = [];
  for (const layers of known) {
    if (kinds.every((kind) => kernelDifference(kind, layers) !== null)) kinds.push(layers);
  }
  const [most = null] = kinds
    .flatMap((kind) => kernelDifference(first, kind) ?? [])
    .toSorted((a, b) => (b.otherKernels ?? Infinity) - (a.otherKernels ?? Infinity));
  // `most` is between the first build and the one that differs most from it; null when all are of one kind.
  return { kinds: kinds.length, layers: first.length, most };
}

function hasKernel({ tactic }: EngineLayer): boolean {
  return tactic !== null && tactic !== '';
}

export interface KernelDifference {
  readonly layers: readonly [number, number];
  /** Layers in the same position with another kernel; null if the layers themselves differ. */
  readonly otherKernels: number | null;
}

/** Null if equal. Numbers in names and hashes of generated kernels differ between builds and prove nothing. */
export function kernelDifference(a: readonly EngineLayer[], b: readonly EngineLayer[]): KernelDifference | null {
  const layers = [a.length, b.length] as const;
  const isAligned =
    a.length === b.length && a.every(({ name }, place) => stableName(name) === stableName(b[place]?.name ?? ''));
  if (!isAligned) return { layers, otherKernels: null };
  const otherKernels = a.filter(({ tactic }, place) => kernelOf(tactic) !== kernelOf(b[place]?.tactic ?? null)).length;
  return otherKernels === 0 ? null : { layers, otherKernels };
}

function kernelOf(tactic: string | null): string | null {
  return tactic === null ? null : parseTactic(tactic).name;
}
