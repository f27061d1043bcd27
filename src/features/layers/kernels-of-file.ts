import { joinKernels } from '../../layers/kernels/join-layers.ts';
import { sumKernels } from '../../layers/kernels/sum-kernels.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { UsageError } from '../../errors.ts';
import type { ProfiledEngine } from '../../engines/profiled-engine.ts';
import type { KernelsReport } from './kernels-text.ts';
import { readNsysExport } from '../../tools/nsys/read-export.ts';

/** The kernels of a capture that was just taken: what cannot be read is a remark, as the capture itself is there. */
export function kernelsIfAny(...asked: Parameters<typeof kernelsOfFile>): {
  readonly kernels: KernelsReport | null;
  readonly notes: readonly string[];
} {
  try {
    return { kernels: kernelsOfFile(...asked), notes: [] };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { kernels: null, notes: [error.message] };
  }
}

/** The kernels in an export, by the layers of an engine where those are known. */
export function kernelsOfFile(
  path: string,
  {
    engine,
    label,
    top,
  }: { readonly engine: ProfiledEngine | null; readonly label: string | null; readonly top: number },
): KernelsReport {
  const layers = engine === null ? [] : layerFactsOf(engine.layers);
  const names = layers.length === 0 ? null : new Set(layers.map(({ name }) => name));
  const report = sumKernels(readNsysExport(path), names);
  const isAny = report.layers.some(({ name }) => names?.has(name) === true);
  return {
    label,
    file: path,
    rows: joinKernels(layers, report),
    report,
    notes: [
      ...(engine?.notes ?? []),
      ...(names !== null && !isAny && report.layers.length > 0
        ? ['no layer of the profile is in the capture: it is of another engine, or was built without names']
        : []),
    ],
    top,
  };
}
