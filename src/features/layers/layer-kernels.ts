import { resolve } from 'node:path';

import { artefactsFolderOf, attachedPathOf } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { type LayerFacts, layerFactsOf } from '../../layers/layer-facts.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { resolvePoint } from '../../selection/cell-points.ts';
import { isPath } from '../../selection/by-name.ts';
import { profiledCell, profiledPath } from '../../selection/profiled-engine.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { attachmentsOfCell } from '../../store/runs/show-run.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes, formatMs, formatPercent } from '../../terminal/numbers.ts';
import { numberColumn, renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { cellLabel } from '../../records/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { readNsysExport } from '../../tools/nsys/read-export.ts';
import type { LayersOptions } from './command.ts';
import type { Captured, LayersKernelsOutput } from './output.ts';

type KernelsOptions = Pick<LayersOptions, 'json' | 'db' | 'at' | 'select' | 'regex' | 'top' | 'all'>;

/** `bench layers CELL --kernels [FILE]`: the kernels of a capture, with the ONNX nodes of the layers that name them. */
export async function showKernels(
  named: string | undefined,
  kernels: string | true,
  options: KernelsOptions,
  io: Io,
): Promise<ExitCode> {
  const { engine, file, label } = await requestedCapture(
    named,
    kernels === true ? null : resolve(io.cwd, kernels),
    options,
    io,
  );
  const read = readKernels(file, engine);
  const rows = read.kernels.map((row) => ({ ...row, origins: row.nodes, tactic: null, type: null, row }));
  const chosen = selectLayers(rows, options.select, options.regex === true).map(({ row }) => row);
  if (chosen.length === 0 && rows.length > 0) {
    throw new UsageError(`--select ${printable(options.select ?? '')}: none of the ${rows.length} kernels`);
  }
  const notes = engine?.notes ?? [];
  const output: LayersKernelsOutput = { schemaVersion: 1, label, file, notes, ...read, kernels: chosen };
  const top = options.all === true ? Infinity : options.top;
  printResult(io, options, output, (_, look) => kernelsText(output, top, look));
  return EXIT_CODES.fine;
}

async function requestedCapture(name: string | undefined, file: string | null, options: KernelsOptions, io: Io) {
  if (name === undefined) {
    if (file !== null) return { file, label: null, engine: null };
    throw new UsageError('name a cell or a file: bench layers CELL --kernels, or bench layers --kernels FILE.sqlite');
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
      `${printable(name)} has no capture: \`bench profile ${cellKey.slice(0, 8)} --nsys\` takes one; --kernels FILE.sqlite reads another export`,
    );
  }
  return attachedPathOf(artefactsFolderOf(path), newest);
}

/** @throws UsageError for a file that is not an export */
export function readKernels(file: string, engine: ProfiledEngine | null): Captured {
  const work = readNsysExport(file);
  const layers = engine === null ? [] : layerFactsOf(engine.layers).filter(({ tactic }) => tactic !== null);
  return { ...work, kernels: work.kernels.map((kernel) => ({ ...kernel, nodes: nodesOf(kernel.name, layers) })) };
}

/**
 * Nodes of the layers with this kernel. The name of the tactic equals that of the kernel, or either has a suffix:
 * `_kernel_trt`, `_by_fusion_tactic`.
 */
function nodesOf(kernel: string, layers: readonly LayerFacts[]): string[] {
  const named = layers.filter(
    ({ tactic }) => tactic !== null && (kernel.startsWith(tactic) || tactic.startsWith(kernel)),
  );
  return [...new Set(named.flatMap(({ nodes }) => nodes))];
}

const SHOWN_CALLS = 4;

/** @param top lines of the table; the rest is summed */
export function kernelsText(
  report: Captured & { readonly label: string | null; readonly file: string; readonly notes: readonly string[] },
  top: number,
  look: Look,
): string[] {
  const { busyMs, calls, copies, file, kernels, label, nsysVersion, notes, spanMs } = report;
  const { columns, style } = look;
  const all = sumOf(kernels);
  const rest = kernels.slice(top);
  const more = { name: `${rest.length} more (--top, --all)`, nodes: [], ...sumOf(rest) };
  const version = nsysVersion === null ? '' : ` ${nsysVersion}`;
  const share = spanMs === 0 ? '' : ` (${formatPercent((busyMs / spanMs) * 100, false)})`;
  const copied = copies.map(
    ({ bytes, count: times, kind, ms }) => `${printable(kind)} ${times}×, ${formatBytes(bytes)}, ${formatMs(ms)}`,
  );
  const called = calls
    .slice(0, SHOWN_CALLS)
    .map(({ count: times, ms, name }) => `${printable(name)} ${times}×, ${formatMs(ms)}`);
  const left = calls.length > SHOWN_CALLS ? `; and ${calls.length - SHOWN_CALLS} more` : '';
  const lines = [
    `GPU      busy ${formatMs(busyMs)} of ${formatMs(spanMs)}${share}`,
    `copies   ${copied.join('; ') || 'none'}`,
    `calls    ${called.join('; ')}${left}`,
  ];
  return [
    ...wrapHanging(`kernels of ${printable(label ?? file)}`, columns, 2).map(style.strong),
    ...wrapHanging(
      `${count(all.count, 'kernel')} · captured by Nsight Systems${printable(version)}: ${printable(file)}`,
      columns,
      2,
    ),
    ...notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn)),
    '',
    ...renderTable<Pick<Captured['kernels'][number], 'count' | 'ms' | 'name' | 'nodes'>>(
      [
        numberColumn('sum', ({ ms }) => formatMs(ms)),
        numberColumn('share', ({ ms }) => (all.ms === 0 ? '' : formatPercent((ms / all.ms) * 100, false)), 3),
        numberColumn('number', (row) => String(row.count)),
        numberColumn('mean', (row) => formatMs(row.ms / row.count), 2),
        { header: 'kernel', text: ({ name }) => printable(name), minWidth: 26 },
        { header: 'ONNX nodes', text: ({ nodes }) => printable(nodes.join(', ')), minWidth: 16, dropRank: 1 },
      ],
      rest.length === 0 ? kernels : [...kernels.slice(0, top), more],
      look,
    ),
    '',
    ...lines.flatMap((line) => wrapHanging(line, columns, 4)),
  ];
}

function sumOf(rows: readonly { readonly count: number; readonly ms: number }[]) {
  return rows.reduce((sum, row) => ({ count: sum.count + row.count, ms: sum.ms + row.ms }), { count: 0, ms: 0 });
}

type Selectable = Pick<LayerFacts, 'name' | 'origins' | 'tactic' | 'type'>;

/**
 * Layers with a text in their names, ONNX nodes, types or tactics; ignores case.
 * @throws UsageError for an invalid regular expression
 */
export function selectLayers<Layer extends Selectable>(
  layers: readonly Layer[],
  pattern: string | undefined,
  isRegex: boolean,
): readonly Layer[] {
  if (pattern === undefined) return layers;
  const expression = regexOf(isRegex ? pattern : literally(pattern));
  return layers.filter(({ name, origins, tactic, type }) =>
    [name, type, tactic, ...origins].some((text) => text !== null && expression.test(text)),
  );
}

/** A pattern for texts with these parts in their order; `*` matches anything. */
function literally(text: string): string {
  return text.replaceAll(/[$()+./?[\\\]^{|}]/g, '\\$&').replaceAll('*', '.*');
}

function regexOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'isu');
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /s, '') : '';
    throw new UsageError(`--select ${printable(pattern)}: not a regular expression: ${printable(reason)}`, {
      cause: error,
    });
  }
}
