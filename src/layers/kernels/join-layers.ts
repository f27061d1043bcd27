import type { KernelReport, LayerKernels } from './layer-kernels.ts';
import type { LayerFacts } from '../layer-facts.ts';

/** A layer with the kernels that were captured of it; one side may be missing. */
export interface LayerWithKernels {
  readonly name: string;
  /** Null for a range that is no layer of the profile. */
  readonly layer: LayerFacts | null;
  /** Null for a layer that launched nothing in the capture. */
  readonly kernels: LayerKernels | null;
}

/** By kernel time, then by the profile: what costs most comes first. */
export function joinKernels(layers: readonly LayerFacts[], { layers: captured }: KernelReport): LayerWithKernels[] {
  const byName = new Map(captured.map((each) => [each.name, each]));
  const known = new Set(layers.map(({ name }) => name));
  const rows = [
    ...layers.map((layer) => ({ name: layer.name, layer, kernels: byName.get(layer.name) ?? null })),
    ...captured.filter(({ name }) => !known.has(name)).map((kernels) => ({ name: kernels.name, layer: null, kernels })),
  ];
  return rows.toSorted(
    (a, b) =>
      perExecution(b.kernels) - perExecution(a.kernels) || (b.layer?.averageMs ?? 0) - (a.layer?.averageMs ?? 0),
  );
}

function perExecution(kernels: LayerKernels | null): number {
  return kernels === null ? 0 : kernels.kernelMs / kernels.executions;
}
