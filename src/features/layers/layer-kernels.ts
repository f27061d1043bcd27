import { resolve } from 'node:path';

import { artefactsFolderOf } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { type LayerFacts, layerFactsOf } from '../../layers/layer-facts.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { profiledPath } from '../../selection/runs-of-paths.ts';
import { profiledAt } from '../../selection/cell-points.ts';
import { isPath } from '../../selection/by-name.ts';
import { attachmentsOfCell } from '../../store/runs/show-run.ts';
import { type Look, wrapLines } from '../../terminal/look.ts';
import { count, formatBytes, formatMs, formatShare } from '../../terminal/numbers.ts';
import { numberColumn, renderTable } from '../../terminal/table.ts';
import { cellLabel } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { readNsysExport } from '../../tools/nsys/read-export.ts';
import type { LayersOptions } from './command.ts';
import type { Captured, LayersKernelsOutput } from './output.ts';
import { attachedPathOf } from '../../files/attachments.ts';

type KernelsOptions = Pick<LayersOptions, 'json' | 'db' | 'at' | 'select' | 'regex' | 'top' | 'all'>;

/** `bench layers CELL --kernels [FILE]`: the kernels of a capture, with the ONNX nodes of the layers that name them. */
export async function showKernels(named: string | undefined, kernels: string | true, options: KernelsOptions, io: Io) {
  const asked = kernels === true ? null : resolve(io.cwd, kernels);
  const { engine, file, label } = await requestedCapture(named, asked, options, io);
  const read = readKernels(file, engine);
  const rows = read.kernels.map((row) => ({ ...row, origins: row.nodes, tactic: null, type: null, row }));
  const chosen = selectLayers(rows, options.select, options.regex === true).map(({ row }) => row);
  if (chosen.length === 0 && rows.length > 0) {
    throw new UsageError(`--select ${printable(options.select ?? '')}: none of the ${rows.length} kernels`);
  }
  const notes = engine?.notes ?? [];
  const output: LayersKernelsOutput = { schemaVersion: 1, label, file, notes, ...read, kernels: chosen };
  const top = options.all === true ? Infinity : options.top;
  return printResult(io, options, output, (_, look) => kernelsText(output, top, look));
}

async function requestedCapture(name: string | undefined, file: string | null, options: KernelsOptions, io: Io) {
  if (name === undefined) {
    if (file !== null) return { file, label: null, engine: null };
    throw new UsageError('name a cell or a file: bench layers CELL --kernels, or bench layers --kernels FILE.sqlite');
  }
  if (isPath(name, io)) {
    if (file === null) throw new UsageError(`${printable(name)}: name the export too, --kernels FILE.sqlite`);
    const engine = await profiledPath(name, io);
    return { file, label: engine?.cellLabel ?? name, engine };
  }
  return withStore(options, io, async ({ db, path }) => {
    const { cell, engine, sweeps } = await profiledAt(db, name, options.at, io);
    const ids = options.at === undefined ? null : sweeps.map(({ sweepId }) => sweepId);
    const [newest] = file === null ? attachmentsOfCell(db, cell.key, 'nsysExport', ids) : [];
    const attached = newest === undefined ? file : attachedPathOf(artefactsFolderOf(path), newest);
    if (attached !== null) return { file: attached, label: cellLabel(cell), engine };
    throw new UsageError(
      `${printable(name)} has no capture: \`bench profile ${cell.key.slice(0, 8)} --nsys\` takes one; --kernels FILE.sqlite reads another export`,
    );
  });
}

/**
 * Kernels with the nodes of the layers that have them as tactic. The name of the tactic equals that of the kernel, or
 * either has a suffix: `_kernel_trt`, `_by_fusion_tactic`.
 * @throws UsageError for a file that is not an export
 */
export function readKernels(file: string, engine: ProfiledEngine | null): Captured {
  const work = readNsysExport(file);
  const layers = engine === null ? [] : layerFactsOf(engine.layers);
  const nodesOf = (kernel: string): string[] => {
    const named = layers.filter(({ tactic }) => tactic && (kernel.startsWith(tactic) || tactic.startsWith(kernel)));
    return [...new Set(named.flatMap(({ nodes }) => nodes))];
  };
  return { ...work, kernels: work.kernels.map((kernel) => ({ ...kernel, nodes: nodesOf(kernel.name) })) };
}

const SHOWN_CALLS = 4;

/** @param top lines of the table; the rest is summed */
export function kernelsText(report: Omit<LayersKernelsOutput, 'schemaVersion'>, top: number, look: Look): string[] {
  const { busyMs, calls, copies, file, kernels, label, nsysVersion, notes, spanMs } = report;
  const { style } = look;
  const noted = notes.map((note) => `note: ${printable(note)}`);
  const all = sumOf(kernels);
  const rest = kernels.slice(top);
  const more = { name: `${rest.length} more (--top, --all)`, nodes: [], ...sumOf(rest) };
  const version = nsysVersion === null ? '' : ` ${printable(nsysVersion)}`;
  const copied = copies.map(
    (copy) => `${printable(copy.kind)} ${copy.count}×, ${formatBytes(copy.bytes)}, ${formatMs(copy.ms)}`,
  );
  const called = calls.map((call) => `${printable(call.name)} ${call.count}×, ${formatMs(call.ms)}`);
  const left = calls.length > SHOWN_CALLS ? `; and ${calls.length - SHOWN_CALLS} more` : '';
  const busy = spanMs === 0 ? '' : ` (${formatShare(busyMs / spanMs)})`;
  return [
    ...wrapLines(look, 2, [`kernels of ${printable(label ?? file)}`]).map(style.strong),
    ...wrapLines(look, 2, [`${count(all.count, 'kernel')} · captured by Nsight Systems${version}: ${printable(file)}`]),
    ...wrapLines(look, 2, noted).map(style.warn),
    '',
    ...renderTable<Pick<Captured['kernels'][number], 'count' | 'ms' | 'name' | 'nodes'>>(
      [
        numberColumn('sum', ({ ms }) => formatMs(ms)),
        numberColumn('share', ({ ms }) => formatShare(ms / all.ms), 3),
        numberColumn('number', (row) => String(row.count)),
        numberColumn('mean', (row) => formatMs(row.ms / row.count), 2),
        { header: 'kernel', text: ({ name }) => printable(name), minWidth: 26 },
        { header: 'ONNX nodes', text: ({ nodes }) => printable(nodes.join(', ')), minWidth: 16, dropRank: 1 },
      ],
      rest.length === 0 ? kernels : [...kernels.slice(0, top), more],
      look,
    ),
    '',
    ...wrapLines(look, 4, [
      `GPU      busy ${formatMs(busyMs)} of ${formatMs(spanMs)}${busy}`,
      `copies   ${copied.join('; ') || 'none'}`,
      `calls    ${called.slice(0, SHOWN_CALLS).join('; ')}${left}`,
    ]),
  ];
}

function sumOf(rows: readonly { readonly count: number; readonly ms: number }[]) {
  return rows.reduce((sum, row) => ({ count: sum.count + row.count, ms: sum.ms + row.ms }), { count: 0, ms: 0 });
}

/**
 * Layers with a text in their names, ONNX nodes, types or tactics; ignores case.
 * @throws UsageError for an invalid regular expression
 */
export function selectLayers<Layer extends Pick<LayerFacts, 'name' | 'origins' | 'tactic' | 'type'>>(
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
    throw new UsageError(`--select ${pattern}: not a regular expression: ${reason}`, { cause: error });
  }
}
