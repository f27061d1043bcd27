import type { KernelReport } from '../../layers/kernels/layer-kernels.ts';
import { joinKernels, type LayerWithKernels } from '../../layers/kernels/join-layers.ts';
import { sumKernels } from '../../layers/kernels/sum-kernels.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { UsageError } from '../../errors.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import type { Captured, LayersKernelsOutput } from './output.ts';
import { readNsysExport } from '../../tools/nsys/read-export.ts';

/** What a capture says of a cell, layer by layer. */
export interface KernelsReport {
  /** Of the cell; null for a file alone. */
  readonly label: string | null;
  /** The file that was read. */
  readonly file: string;
  readonly rows: readonly LayerWithKernels[];
  readonly report: KernelReport;
  readonly notes: readonly string[];
  /** So many lines; the rest is summed up. */
  readonly top: number;
}

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

export function capturedOutput({ rows, report }: KernelsReport): Captured {
  const { layers: _layers, product, schema, ...sums } = report;
  return {
    ...sums,
    nsysVersion: product,
    exportSchema: schema,
    layers: rows.map(({ name, layer, kernels }) => ({
      name,
      index: layer?.index ?? null,
      profileMs: layer === null || layer.averageMs === 0 ? null : layer.averageMs,
      executions: kernels?.executions ?? 0,
      kernels: kernels?.kernels ?? 0,
      kernelMs: kernels?.kernelMs ?? 0,
      launches: kernels?.launches ?? 0,
      gapMs: kernels?.gapMs ?? 0,
      kernelNames: kernels?.kernelNames ?? [],
    })),
  };
}

export function kernelsOutput(report: KernelsReport): LayersKernelsOutput {
  const { label, file, notes } = report;
  return { schemaVersion: 1, label, file, notes, ...capturedOutput(report) };
}
