import { type LayerFacts, layerLabel } from '../../layers/layer-facts.ts';
import { type LayerGroup, channelMultiple, groupLayers } from '../../layers/summarize-layers.ts';
import { type Look, wrapLines } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent, formatShare } from '../../terminal/numbers.ts';
import { numberColumn, renderTable } from '../../terminal/table.ts';
import { PURPOSE_WORDS } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import type { LayersOutput } from './output.ts';
import { sumMs } from '../../layers/real-precision.ts';
import type { EngineEfficiency } from '../../layers/work/efficiency.ts';

/** Shown in the text but not in `--json`. */
export interface LayersDetails {
  /** Kinds of layers in 16 bits or more with a considerable share of the time, largest first. */
  readonly islands: readonly LayerGroup[];
  readonly unaligned: readonly LayerFacts[];
  /** Maximum number of lines; the rest is summed. */
  readonly top: number;
}

export function layersText(report: LayersOutput, { unaligned, islands, top }: LayersDetails, look: Look): string[] {
  const { aggregate, groups, iterations, layers, notes, provenance, runId, summary, totalMs } = report;
  const { style } = look;
  const noted = notes.map((note) => `note: ${printable(note)}`);
  const time = totalMs === null ? '' : `, ${formatMs(totalMs)} a query`;
  const profile = iterations === null ? 'no profile: names and kernels only' : `mean of ${iterations} profiled queries`;
  const about = `${count(summary.layers, 'layer')}${time} · ${provenance}, run ${runId.slice(0, 8)}, ${profile}`;
  const isSelected = layers.length < summary.layers;
  const chosen =
    totalMs === null ? '' : `, ${formatMs(sumMs(layers))} (${formatShare(sumMs(layers) / summary.totalMs)})`;
  const key = isSelected ? 'all selected layers' : 'all layers';
  const sum = aggregate === null ? null : [{ key, ...aggregate }];
  const rows = groups?.map((group) => ({ ...group, layers: group.layers.length })) ?? sum;
  return [
    ...wrapLines(look, 2, [`layers of ${printable(report.label ?? report.ref)}`]).map(style.strong),
    ...wrapLines(look, 2, [about]),
    ...wrapLines(look, 2, noted).map(style.warn),
    '',
    ...(rows === null ? layerTable(report, top, look) : groupTable(rows, report, top, look)),
    ...(isSelected ? [style.dim(`${count(layers.length, 'layer')} of ${summary.layers} chosen${chosen}`)] : []),
    '',
    ...wrapLines(look, 4, [...summaryLines(report, islands), ...alignmentLines(report, unaligned)]),
    ...wrapLines(look, 4, efficiencyLines(report.efficiency)),
  ];
}

function layerTable({ layers, summary, totalMs }: LayersOutput, top: number, look: Look): string[] {
  let sum = 0;
  const rowOf = (layer: LayersOutput['layers'][number] | null, ms: number, label: string) => {
    sum += ms;
    return { ms, upTo: sum, label, layer, work: layer?.efficiency ?? null };
  };
  const rest = layers.slice(top);
  const rows = layers.slice(0, top).map((layer) => rowOf(layer, layer.averageMs, printable(layerLabel(layer))));
  if (rest.length > 0) rows.push(rowOf(null, sumMs(rest), `${rest.length} more (--top, --all)`));
  type Row = (typeof rows)[number];
  const timed = (text: string) => (totalMs === null ? '' : text);
  return renderTable<Row>(
    [
      numberColumn('mean', ({ ms }) => timed(formatMs(ms))),
      numberColumn('share', ({ ms }) => timed(formatShare(ms / summary.totalMs))),
      numberColumn('so far', ({ upTo }) => timed(formatShare(upTo / summary.totalMs)), 4),
      numberColumn('GFLOP', ({ work }) => (work?.flops ? formatNumber(work.flops / 1e9, 3) : ''), 4.6),
      numberColumn('of peak', ({ work }) => shown(work?.peakShare, formatShare), 2.4),
      numberColumn('of DRAM', ({ work }) => shown(work?.bandwidthShare, formatShare), 2.6),
      numberColumn('FLOP/B', ({ work }) => shown(work?.flopPerByte, (value) => formatNumber(value, 2)), 4.4),
      { header: 'roofline', text: ({ work }) => work?.bound ?? '', dropRank: 2.5 },
      { header: 'type', text: ({ layer }) => printable(layer?.type ?? ''), dropRank: 3 },
      { header: 'in → out', text: ({ layer }) => precisionText(layer), dropRank: 2 },
      { header: 'ONNX nodes, or name', text: ({ label }) => label, minWidth: 26 },
      { header: 'engine layer', text: ({ layer }) => printable(layer?.name ?? ''), minWidth: 16, dropRank: 5 },
      { header: 'tactic', text: ({ layer }) => printable(layer?.tactic ?? ''), minWidth: 16, dropRank: 6 },
    ],
    rows,
    look,
  );
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '' : format(value);
}

function precisionText(layer: LayerFacts | null): string {
  const [from, to] = [layer?.precisionIn ?? null, layer?.precisionOut ?? null];
  return from === to ? (from ?? '') : `${from ?? '?'} → ${to ?? '?'}`;
}

type GroupRow = Omit<NonNullable<LayersOutput['aggregate']>, 'sharePercent'> & { readonly key: string };

function groupTable(groups: readonly GroupRow[], report: LayersOutput, top: number, look: Look): string[] {
  const timed = (text: string) => (report.totalMs === null ? '' : text);
  const rest = groups.slice(top);
  return renderTable<GroupRow>(
    [
      numberColumn('total', ({ totalMs }) => timed(formatMs(totalMs))),
      numberColumn('share', ({ totalMs }) => timed(formatShare((totalMs ?? 0) / report.summary.totalMs))),
      numberColumn('layers', ({ layers }) => String(layers)),
      numberColumn('min', ({ minMs }) => timed(formatNumber(minMs ?? 0, 3)), 2),
      numberColumn('mean', ({ meanMs }) => timed(formatNumber(meanMs ?? 0, 3)), 1),
      numberColumn('max', ({ maxMs }) => timed(formatNumber(maxMs ?? 0, 3)), 2),
      { header: 'group', text: ({ key }) => printable(key), minWidth: 16 },
    ],
    rest.length === 0 ? groups : [...groups.slice(0, top), restOf(rest)],
    look,
  );
}

function restOf(rest: readonly GroupRow[]): GroupRow {
  const layers = rest.reduce((sum, row) => sum + row.layers, 0);
  const totalMs = rest.reduce((sum, row) => sum + (row.totalMs ?? 0), 0);
  const [minMs, maxMs] = [rest.map((row) => row.minMs ?? Infinity), rest.map((row) => row.maxMs ?? 0)];
  const spread = { minMs: Math.min(...minMs), meanMs: totalMs / layers, maxMs: Math.max(...maxMs) };
  return { key: `${rest.length} more`, layers, totalMs, ...spread };
}

const QUANTIZED = ['fp8', 'int8', 'fp4', 'int4'];
const OVERHEAD = ['reformat', 'quantize', 'cast', 'shape'] as const;

function summaryLines(report: LayersOutput, islands: readonly LayerGroup[]): string[] {
  const { newestArchitecture, olderKernelShare, opaqueShare, overheadMs, precisionShares } = report.summary;
  const lines: string[] = [];
  if (report.totalMs !== null) {
    const timed = (words: string, ms: number): string =>
      `${words} ${formatMs(ms)} (${formatShare(ms / report.summary.totalMs)})`;
    const others = OVERHEAD.filter((kind) => overheadMs[kind] > 0);
    const named = others.map((kind) => timed(PURPOSE_WORDS[kind], overheadMs[kind])).join(', ');
    if (named !== '') lines.push(`in addition to ${PURPOSE_WORDS.compute}: ${named}`);
    const shares = precisionShares.map(({ precision, share }) => `${precision} ${formatShare(share)}`);
    lines.push(`time by input type: ${shares.join(', ')}`);
    const [largest] = islands;
    // Layers of a quantized network that stay in a wider type are worth a look.
    const isQuantized = precisionShares.some(({ precision, share }) => QUANTIZED.includes(precision) && share >= 0.2);
    if (largest !== undefined && isQuantized) {
      const more = islands.length > 1 ? `, ${islands.length - 1} more` : '';
      lines.push(`not quantized, and worth a look: ${timed(printable(largest.key), largest.totalMs)}${more}`);
    }
    lines.push(...overheadLines(report));
  }
  lines.push(...opaqueLines(opaqueShare));
  if (olderKernelShare > 0) {
    const share = formatShare(olderKernelShare);
    lines.push(`${share} of the time is in kernels for GPUs older than sm${newestArchitecture}`);
  }
  return lines;
}

export function opaqueLines(share: number): string[] {
  if (share <= 0.5) return [];
  return [`${formatShare(share)} of the time is in opaque regions, whose changes no layer shows: use Nsight Systems`];
}

/** Maximum number of kinds of layers that are named. */
const NAMED = 3;

function alignmentLines({ summary, totalMs }: LayersOutput, unaligned: readonly LayerFacts[]): string[] {
  if (unaligned.length === 0) return [];
  const timeOf = (layers: readonly LayerFacts[], of = ''): string =>
    totalMs === null ? '' : ` (${formatShare(sumMs(layers) / summary.totalMs)}${of})`;
  const kinds = groupLayers(unaligned, ['node', 'precision'], 1).map(({ key, layers }) => {
    const [first] = layers;
    const is = first?.channels ?? [];
    const multiple = first === undefined ? 1 : channelMultiple(first);
    const padded = is.map((channels) => multiple * Math.ceil(channels / multiple));
    return `${printable(key)} ${is.join(' → ')}, padded ${padded.join(' → ')}${timeOf(layers)}`;
  });
  const more = kinds.length > NAMED ? `; ${kinds.length - NAMED} more` : '';
  return [
    `tensor cores take multiples of 8 channels in fp16 and bf16, of 16 in fp8 and int8; not so in ${count(unaligned.length, 'layer')}${timeOf(unaligned, ' of the time')}: ${kinds.slice(0, NAMED).join('; ')}${more}`,
    '  pad these channels in the model (K and N of a matrix product): otherwise TensorRT pads them in each run, or uses a slower kernel',
  ];
}

/** In percent. A sum this close to the time without the profiler needs no explanation. */
const EQUAL_WITHIN = 2;

function overheadLines({ gpuComputeMs, medianMs, overheadPercent, summary }: LayersOutput): string[] {
  if (gpuComputeMs === null) return [];
  const [least, most] = summary.launchFloorMs.map((ms) => formatNumber(ms, 2));
  const unprofiled = `GPU compute time without the profiler ${formatMs(gpuComputeMs)}`;
  const floor = `launches without a CUDA graph: ${least} to ${most} ms of the host, estimated at 5 to 15 µs each`;
  if (medianMs === null || overheadPercent === null) return [unprofiled, floor];
  const line = `medians: sum of layers ${formatMs(medianMs)}, ${unprofiled}: ${formatPercent(overheadPercent)} (not for gating)`;
  if (Math.abs(overheadPercent) <= EQUAL_WITHIN) return [line, floor];
  const why =
    overheadPercent > 0
      ? 'the profiler waits after each layer: shares are valid, times are too long'
      : 'the GPU compute time also has gaps between layers, or another clock: shares are of the layers alone';
  return [line, `  ${why}`, floor];
}

/** Lines about the use of the GPU, or one line that says why it is unknown. */
function efficiencyLines(efficiency: EngineEfficiency): string[] {
  const { clockFrom, flops, gpu, knownShare, missing, onnx, peakShare, smClockMhz, tflopsPerS } = efficiency;
  const from = clockFrom === 'measured' ? '' : ', its highest clock, as none was measured';
  const part = knownShare === null || knownShare > 0.995 ? '' : `, counting ${formatShare(knownShare)} of the FLOPs`;
  const known = [
    flops === null ? '' : `${formatNumber(flops / 1e9, 3)} GFLOP a query (${printable(onnx ?? '')})`,
    tflopsPerS === null ? '' : `${formatNumber(tflopsPerS, 3)} TFLOP/s`,
    peakShare === null
      ? ''
      : `${formatShare(peakShare)} of the dense peak of ${printable(gpu ?? '')} at ${smClockMhz} MHz${from}${part}`,
  ].filter((text) => text !== '');
  return [
    ...(known.length === 0 ? [] : [known.join(', ')]),
    ...(missing.length === 0 ? [] : [`share of the peak not known: ${missing.map(printable).join('; ')}`]),
  ];
}
