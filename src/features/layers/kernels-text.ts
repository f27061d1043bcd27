import type { KernelReport, LayerWithKernels, UnattributedReason } from '../../layers/kernels/layer-kernels.ts';
import { layerLabel } from '../../layers/layer-label.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

export interface KernelsReport {
  /** Null for a file alone. */
  readonly label: string | null;
  readonly file: string;
  readonly rows: readonly LayerWithKernels[];
  readonly report: KernelReport;
  /** Mean GPU compute time by trtexec, of the same cell without a profiler; null where it is not known. */
  readonly gpuComputeMs: number | null;
  readonly notes: readonly string[];
  /** This many lines; the rest is summed up. */
  readonly top: number;
}

export function kernelsText(all: KernelsReport, look: Look): string[] {
  const { file, label, notes, report } = all;
  const { columns, style } = look;
  const version = report.product === null ? '' : ` ${report.product}`;
  return [
    ...wrapHanging(`kernels of ${printable(label ?? file)}`, columns, 2).map(style.strong),
    ...wrapHanging(
      `${count(report.kernels, 'kernel')} in ${count(report.queries, 'query', 'queries')} · captured by Nsight Systems${printable(version)}: ${printable(file)}`,
      columns,
      2,
    ),
    ...notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn)),
    '',
    ...kernelTable(all, look),
    '',
    ...[...agreementLines(all), ...timelineLines(report)].flatMap((line) => wrapHanging(line, columns, 4)),
  ];
}

type Row = ReturnType<typeof rowOf>;

/** Per query: sums over a capture depend on the number of queries. */
function rowOf({ name, layer, kernels }: LayerWithKernels) {
  const each = (sum: number): number | null => (kernels === null ? null : sum / kernels.executions);
  return {
    kernelMs: each(kernels?.kernelMs ?? 0),
    profileMs: layer === null || layer.averageMs === 0 ? null : layer.averageMs,
    kernels: each(kernels?.kernels ?? 0),
    launches: each(kernels?.launches ?? 0),
    gapMs: each(kernels?.gapMs ?? 0),
    layer: printable(layer === null ? name : layerLabel(layer)),
    kernel: printable(kernels?.kernelNames.join(', ') ?? ''),
  };
}

function kernelTable({ rows, top }: KernelsReport, look: Look): string[] {
  const shown = rows.slice(0, top).map(rowOf);
  const rest = rows.slice(top).map(rowOf);
  const sum = (of: (row: Row) => number | null): number => rest.reduce((total, row) => total + (of(row) ?? 0), 0);
  if (rest.length > 0) {
    shown.push({
      kernelMs: sum((row) => row.kernelMs),
      profileMs: rest.some(({ profileMs }) => profileMs !== null) ? sum((row) => row.profileMs) : null,
      kernels: sum((row) => row.kernels),
      launches: sum((row) => row.launches),
      gapMs: sum((row) => row.gapMs),
      layer: `${rest.length} more (--top, --all)`,
      kernel: '',
    });
  }
  const allMs = rows.reduce((total, row) => total + (rowOf(row).kernelMs ?? 0), 0);
  const isProfiled = shown.some(({ profileMs }) => profileMs !== null);
  const right = 'right' as const;
  const profile: Column<Row> = {
    header: 'profile',
    text: ({ profileMs }) => formatMs(profileMs),
    align: right,
    dropRank: 4,
  };
  return renderTable<Row>(
    [
      { header: 'kernels', text: ({ kernelMs }) => formatMs(kernelMs), align: right },
      {
        header: 'share',
        text: ({ kernelMs }) =>
          kernelMs === null || allMs === 0 ? '' : formatPercent((kernelMs / allMs) * 100, false),
        align: right,
        dropRank: 3,
      },
      ...(isProfiled ? [profile] : []),
      { header: 'number', text: ({ kernels }) => formatCount(kernels), align: right },
      { header: 'launches', text: ({ launches }) => formatCount(launches), align: right, dropRank: 2 },
      { header: 'gap', text: ({ gapMs }) => formatMs(gapMs), align: right, dropRank: 1 },
      { header: 'layer', text: ({ layer }) => layer, minWidth: 26 },
      { header: 'kernel', text: ({ kernel }) => kernel, minWidth: 16, dropRank: 5 },
    ],
    shown,
    look,
  );
}

/** A whole number where every query had as many. */
function formatCount(value: number | null): string {
  if (value === null) return '–';
  return Number.isInteger(value) ? String(value) : formatNumber(value, 3);
}

/** Two clocks that should say the same: from further apart on the capture is no picture of the runs. */
const AGREES_PERCENT = 10;

function agreementLines({ gpuComputeMs, report: { queryMs } }: KernelsReport): string[] {
  if (gpuComputeMs === null || queryMs === null || gpuComputeMs === 0) return [];
  const apart = (queryMs / gpuComputeMs - 1) * 100;
  const said =
    Math.abs(apart) <= AGREES_PERCENT
      ? 'they agree'
      : 'they do not agree: captured launches are slower (a CUDA graph, --cuda-graph-trace=graph), or clocks, engine or shapes were others';
  return [
    `check    a query takes ${formatMs(queryMs)} from its first kernel to its last, GPU compute time by trtexec ${formatMs(gpuComputeMs)} (${formatPercent(apart)}): ${said}`,
  ];
}

const SHOWN_CALLS = 4;

const PAUSES: Readonly<Record<KernelReport['pauses'][number]['reason'], string>> = {
  garbageCollection: 'garbage collection',
  interpreterLock: "waiting for the interpreter's lock",
};

function timelineLines({ busyMs, spanMs, gaps, copies, calls, pauses, unattributed }: KernelReport): string[] {
  const share = spanMs === 0 ? '' : ` (${formatPercent((busyMs / spanMs) * 100, false)})`;
  const copied = copies.map(
    ({ kind, count: times, bytes, ms }) => `${printable(kind)} ${times}×, ${formatBytes(bytes)}, ${formatMs(ms)}`,
  );
  const called = calls
    .slice(0, SHOWN_CALLS)
    .map(({ name, count: times, ms }) => `${printable(name)} ${times}×, ${formatMs(ms)}`);
  return [
    `GPU      at work ${formatMs(busyMs)} of ${formatMs(spanMs)}${share}; idle within queries ${formatMs(gaps.withinQueriesMs)}, between them ${formatMs(gaps.betweenQueriesMs)}, before copies ${formatMs(gaps.beforeCopiesMs)}`,
    `copies   ${copied.join('; ') || 'none'}`,
    `calls    ${called.join('; ')}${calls.length > SHOWN_CALLS ? `; and ${calls.length - SHOWN_CALLS} more` : ''}`,
    ...pauses.map(
      ({ reason, count: times, ms, gpuIdleMs }) =>
        `host     ${PAUSES[reason]} ${times}×, ${formatMs(ms)}; the GPU had no work for ${formatMs(gpuIdleMs)} of it`,
    ),
    ...unattributed.map(
      ({ reason, kernels, kernelMs }) =>
        `not of any layer: ${count(kernels, 'kernel')}, ${formatMs(kernelMs)}, ${REASONS[reason]}`,
    ),
  ];
}

const REASONS: Readonly<Record<UnattributedReason, string>> = {
  graphNode: 'of CUDA graphs that were captured before the capture began',
  noCall: 'whose launching call is not in the capture',
  noRange: 'that were launched outside of any layer',
};
