import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { joinKernels, type LayerWithKernels } from '../../layers/kernels/layer-kernels.ts';
import { artefactsFolderOf, attachedPathOf } from '../../artefacts/layout.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { type KernelsReport, kernelsText } from './kernels-text.ts';
import { attachmentsOfCell } from '../../store/runs/attachments.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { resolvePoint } from '../../selection/cell-points.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { profiledCell, profiledPath } from '../../selection/profiled-engine.ts';
import { isPath } from '../../selection/is-path.ts';
import type { LayersOptions } from './command.ts';
import { selectLayers } from './select-layers.ts';
import { withStore } from '../../cli/with-store.ts';
import { sumKernels } from '../../layers/kernels/sum-kernels.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import type { Captured, LayersKernelsOutput } from './output.ts';
import { readNsysExport } from '../../tools/nsys/read-export.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

type KernelsOptions = Pick<LayersOptions, 'json' | 'db' | 'at' | 'select' | 'regex' | 'top' | 'all'>;

/** `bench layers CELL --kernels [FILE]`: a capture next to the profile, layer by layer. */
export async function showKernels(
  named: string | undefined,
  kernels: string | true,
  options: KernelsOptions,
  io: Io,
): Promise<ExitCode> {
  // `--kernels CELL`: the option consumed the argument.
  const isName = kernels !== true && named === undefined && !existsSync(resolve(io.cwd, kernels));
  const isCell = isName && !/[./]/.test(kernels);
  const name = isCell ? kernels : named;
  const file = isCell || kernels === true ? null : resolve(io.cwd, kernels);
  const { file: path, label, engine } = await requestedCapture(name, file, options, io);
  const top = options.all === true ? Infinity : options.top;
  const report = kernelsOfFile(path, { engine, label, top });
  const rows = selectLayers(report.rows.map(selectable), options.select, options.regex === true).map(({ row }) => row);
  if (rows.length === 0 && report.rows.length > 0) {
    throw new UsageError(`--select ${printable(options.select ?? '')}: none of the ${report.rows.length} layers`);
  }
  const shown = { ...report, rows };
  const { notes } = report;
  const output: LayersKernelsOutput = { schemaVersion: 1, label, file: path, notes, ...capturedOutput(shown) };
  printResult(io, options, output, (_, look) => kernelsText(shown, look));
  return EXIT_CODES.fine;
}

/** By the profile's facts, else by its kernels. */
function selectable(row: LayerWithKernels) {
  const { layer, kernels, name } = row;
  return {
    row,
    name,
    origins: layer?.origins ?? [],
    tactic: layer?.tactic ?? kernels?.kernelNames.join(' ') ?? null,
    type: layer?.type ?? null,
  };
}

async function requestedCapture(name: string | undefined, file: string | null, options: KernelsOptions, io: Io) {
  if (name === undefined) {
    if (file !== null) return { file, label: null, engine: null };
    throw new UsageError('of what? bench layers CELL --kernels, or bench layers --kernels FILE.sqlite');
  }
  if (isPath(name, io)) {
    if (file === null) {
      throw new UsageError(`${printable(name)}: name the export too, --kernels FILE.sqlite`);
    }
    const engine = await profiledPath(name, io);
    return { file, label: engine?.cellLabel ?? name, engine };
  }
  return withStore(options, io, async (store) => {
    const { cell, sweeps } = await resolvePoint(store.db, name, options.at ?? null, io);
    const ids = options.at === undefined ? null : sweeps.map(({ sweepId }) => sweepId);
    return {
      file: file ?? attachedExport(store, cell.key, ids, name),
      label: cellLabel(cell),
      engine: profiledCell(store.db, cell, ids, options.at ?? name),
    };
  });
}

function attachedExport(
  { db, path }: OpenStore,
  cellKey: CellKey,
  sweepIds: readonly SweepId[] | null,
  name: string,
): string {
  const [newest] = attachmentsOfCell(db, cellKey, 'nsysExport', sweepIds);
  if (newest === undefined) {
    throw new UsageError(
      `${printable(name)} has no capture: \`bench profile ${cellKey.slice(0, 8)} --nsys\` takes one; an export that lies elsewhere is read with --kernels FILE.sqlite`,
    );
  }
  return attachedPathOf(artefactsFolderOf(path), newest);
}

/** Kernels of a new capture; unreadable ones are a remark, as the capture exists. */
export function kernelsIfAny(...of: Parameters<typeof kernelsOfFile>): {
  readonly kernels: KernelsReport | null;
  readonly notes: readonly string[];
} {
  try {
    return { kernels: kernelsOfFile(...of), notes: [] };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { kernels: null, notes: [error.message] };
  }
}

/** Kernels of an export, by layers of the engine where known. */
function kernelsOfFile(
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
    gpuComputeMs: engine?.gpuComputeMs ?? null,
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

const NOTHING_LAUNCHED = { name: '', executions: 0, kernels: 0, kernelMs: 0, launches: 0, gapMs: 0, kernelNames: [] };

export function capturedOutput({ gpuComputeMs, rows, report }: KernelsReport): Captured {
  const { layers: _layers, product, schema, ...sums } = report;
  return {
    ...sums,
    nsysVersion: product,
    exportSchema: schema,
    gpuComputeMs,
    layers: rows.map(({ name, layer, kernels }) => {
      const { name: _name, ...work } = kernels ?? NOTHING_LAUNCHED;
      const profileMs = layer === null || layer.averageMs === 0 ? null : layer.averageMs;
      return { name, index: layer?.index ?? null, profileMs, ...work };
    }),
  };
}
