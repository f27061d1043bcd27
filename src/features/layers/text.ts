import { type LayerFacts, layerLabel } from '../../layers/layer-facts.ts';
import type { Efficiency } from '../../layers/work/efficiency.ts';
import {
  type LayerGroup,
  channelMultiple,
  groupLayers,
  sumMs,
  type unalignedLayers,
} from '../../layers/summarize-layers.ts';
import { printable } from '../../text/printable.ts';
import type { LayersOutput } from './output.ts';
import { PURPOSE_WORDS } from '../../terminal/words.ts';
import { efficiencyLines } from '../../terminal/efficiency-text.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type Column, renderTable, numberColumn } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

/** Shown in the text but not in `--json`. */
export interface LayersDetails {
  /** Kinds of layers in 16 bits or more with a considerable share of the time, largest first. */
  readonly islands: readonly LayerGroup[];
  readonly alignment: ReturnType<typeof unalignedLayers>;
  /** Maximum number of lines; the rest is summed. */
  readonly top: number;
}

type Summary = LayersOutput['summary'];

export function layersText(report: LayersOutput, { alignment, islands, top }: LayersDetails, look: Look): string[] {
  const { summary, layers, totalMs } = report;
  const { style, columns } = look;
  const time = totalMs === null ? '' : `, ${formatMs(totalMs)} a query`;
  const profile =
    report.iterations === null ? 'no profile: names and kernels only' : `mean of ${report.iterations} profiled queries`;
  return [
    ...wrapHanging(`layers of ${printable(report.label ?? report.ref)}`, columns, 2).map(style.strong),
    ...wrapHanging(
      `${count(summary.layers, 'layer')}${time} · ${report.provenance}, run ${report.runId.slice(0, 8)}, ${profile}`,
      columns,
      2,
    ),
    ...report.notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn)),
    '',
    ...tableOf(report, top, look),
    ...(layers.length < summary.layers ? [style.dim(selectionLine(report))] : []),
    '',
    ...[...summaryLines(report, islands), ...alignmentLines(report, alignment)].flatMap((line) =>
      wrapHanging(line, columns, 4),
    ),
    ...efficiencyLines(report.efficiency).flatMap((line) => wrapHanging(line, columns, 4)),
  ];
}

function tableOf(report: LayersOutput, top: number, look: Look): string[] {
  const { aggregate, groups, layers, summary } = report;
  if (groups === null && aggregate === null) return layerTable(report, top, look);
  const key = layers.length < summary.layers ? 'all selected layers' : 'all layers';
  const sum = aggregate === null ? [] : [{ key, ...aggregate }];
  const rows = groups?.map((group) => ({ ...group, layers: group.layers.length })) ?? sum;
  return groupTable(rows, report, top, look);
}

function selectionLine({ layers, summary, totalMs }: LayersOutput): string {
  const share = totalMs === null ? '' : `, ${formatMs(sumMs(layers))} (${sharePercent(sumMs(layers), summary)})`;
  return `${count(layers.length, 'layer')} of ${summary.layers} chosen${share}`;
}

function layerTable({ layers, summary, totalMs }: LayersOutput, top: number, look: Look): string[] {
  const rest = layers.slice(top);
  let sum = 0;
  const rows = layers.slice(0, top).map((layer) => {
    sum += layer.averageMs;
    return { layer, ms: layer.averageMs, upTo: sum, label: printable(layerLabel(layer)) };
  });
  type Row = Omit<(typeof rows)[number], 'layer'> & { readonly layer: LayersOutput['layers'][number] | null };
  const left = sumMs(rest);
  const more = { layer: null, ms: left, upTo: sum + left, label: `${rest.length} more (--top, --all)` };
  const times: Column<Row>[] = [
    numberColumn('mean', ({ ms }) => formatMs(ms)),
    numberColumn('share', ({ ms }) => sharePercent(ms, summary)),
    numberColumn('so far', ({ upTo }) => sharePercent(upTo, summary), 4),
  ];
  const of = (one: Row): Efficiency | null => one.layer?.efficiency ?? null;
  const work: Column<Row>[] = [
    numberColumn('GFLOP', (one) => gigaText(of(one)?.flops), 4.6),
    numberColumn('of peak', (one) => shareText(of(one)?.peakShare), 2.4),
    numberColumn('of DRAM', (one) => shareText(of(one)?.bandwidthShare), 2.6),
    numberColumn('FLOP/B', (one) => intensityText(of(one)?.flopPerByte), 4.4),
    { header: 'roofline', text: (one) => of(one)?.bound ?? '', dropRank: 2.5 },
  ];
  return renderTable<Row>(
    [
      ...(totalMs === null ? [] : times),
      ...work,
      { header: 'type', text: ({ layer }) => printable(layer?.type ?? ''), dropRank: 3 },
      { header: 'in → out', text: ({ layer }) => precisionText(layer), dropRank: 2 },
      { header: 'ONNX nodes, or name', text: ({ label }) => label, minWidth: 26 },
      { header: 'engine layer', text: ({ layer }) => printable(layer?.name ?? ''), minWidth: 16, dropRank: 5 },
      { header: 'tactic', text: ({ layer }) => printable(layer?.tactic ?? ''), minWidth: 16, dropRank: 6 },
    ],
    rest.length === 0 ? rows : [...rows, more],
    look,
  );
}

function gigaText(flops: number | null | undefined): string {
  return flops === null || flops === undefined || flops === 0 ? '' : formatNumber(flops / 1e9, 3);
}

function shareText(share: number | null | undefined): string {
  return share === null || share === undefined ? '' : percent(share);
}

function intensityText(flopPerByte: number | null | undefined): string {
  return flopPerByte === null || flopPerByte === undefined ? '' : formatNumber(flopPerByte, 2);
}

function precisionText(layer: LayerFacts | null): string {
  const [from, to] = [layer?.precisionIn ?? null, layer?.precisionOut ?? null];
  return from === to ? (from ?? '') : `${from ?? '?'} → ${to ?? '?'}`;
}

type GroupRow = Omit<NonNullable<LayersOutput['aggregate']>, 'sharePercent'> & { readonly key: string };

function groupTable(
  groups: readonly GroupRow[],
  { summary, totalMs: timed }: LayersOutput,
  top: number,
  look: Look,
): string[] {
  const rows = groups.slice(0, top);
  const rest = groups.slice(top);
  if (rest.length > 0) rows.push(restOf(rest));
  const times: Column<GroupRow>[] = [
    numberColumn('total', ({ totalMs }) => formatMs(totalMs)),
    numberColumn('share', ({ totalMs }) => sharePercent(totalMs ?? 0, summary)),
  ];
  const spreads: Column<GroupRow>[] = [
    numberColumn('min', ({ minMs }) => shortMs(minMs), 2),
    numberColumn('mean', ({ meanMs }) => shortMs(meanMs), 1),
    numberColumn('max', ({ maxMs }) => shortMs(maxMs), 2),
  ];
  return renderTable<GroupRow>(
    [
      ...(timed === null ? [] : times),
      numberColumn('layers', ({ layers }) => String(layers)),
      ...(timed === null ? [] : spreads),
      { header: 'group', text: ({ key }) => printable(key), minWidth: 16 },
    ],
    rows,
    look,
  );
}

function restOf(rest: readonly GroupRow[]): GroupRow {
  const layers = rest.reduce((sum, row) => sum + row.layers, 0);
  const totalMs = rest.reduce((sum, row) => sum + (row.totalMs ?? 0), 0);
  return {
    key: `${rest.length} more`,
    layers,
    totalMs,
    minMs: Math.min(...rest.map(({ minMs }) => minMs ?? Infinity)),
    meanMs: totalMs / layers,
    maxMs: Math.max(...rest.map(({ maxMs }) => maxMs ?? 0)),
  };
}

function shortMs(value: number | null): string {
  return formatNumber(value ?? 0, 3);
}

function sharePercent(value: number, { totalMs }: Summary): string {
  return totalMs > 0 ? formatPercent((value / totalMs) * 100, false) : '–';
}

function percent(share: number): string {
  return formatPercent(share * 100, false);
}

function summaryLines(report: LayersOutput, islands: readonly LayerGroup[]): string[] {
  const { summary } = report;
  const lines: string[] = [];
  if (report.totalMs !== null) {
    const named = (['reformat', 'quantize', 'cast', 'shape'] as const).flatMap((kind) => {
      const ms = summary.overheadMs[kind];
      return ms > 0 ? [`${PURPOSE_WORDS[kind]} ${formatMs(ms)} (${sharePercent(ms, summary)})`] : [];
    });
    if (named.length > 0) lines.push(`in addition to ${PURPOSE_WORDS.compute}: ${named.join(', ')}`);
    const shares = summary.precisionShares.map(({ precision, share }) => `${precision} ${percent(share)}`);
    lines.push(`time by input type: ${shares.join(', ')}`);
    lines.push(...islandLines(islands, summary), ...overheadLines(report));
  }
  if (summary.opaqueShare > 0.5) {
    lines.push(`${percent(summary.opaqueShare)} of the time is in opaque regions: Nsight Systems shows their kernels`);
  }
  if (summary.olderKernelShare > 0) {
    lines.push(
      `${percent(summary.olderKernelShare)} of the time is in kernels for GPUs older than sm${summary.newestArchitecture}`,
    );
  }
  return lines;
}

const LOW_PRECISIONS = ['fp8', 'int8', 'fp4', 'int4'];

/** Layers of a quantized network that stay in a wider type and take considerable time. */
function islandLines(islands: readonly LayerGroup[], summary: Summary): string[] {
  const [largest] = islands;
  const isQuantized = summary.precisionShares.some(
    ({ precision, share }) => LOW_PRECISIONS.includes(precision) && share >= 0.2,
  );
  if (!isQuantized || largest === undefined) return [];
  const { key, totalMs } = largest;
  const more = islands.length > 1 ? `, ${islands.length - 1} more` : '';
  return [
    `not quantized, and worth a look: ${printable(key)} ${formatMs(totalMs)} (${sharePercent(totalMs, summary)})${more}`,
  ];
}

/** Maximum number of kinds of layers that are named. */
const NAMED = 3;
/** Least share of the time for which the first convolution is mentioned. */
const WORTH_A_WORD = 0.02;

function alignmentLines(
  { summary, totalMs }: LayersOutput,
  { unaligned, image }: LayersDetails['alignment'],
): string[] {
  const timeOf = (layers: readonly LayerFacts[], of = ''): string =>
    totalMs === null ? '' : ` (${sharePercent(sumMs(layers), summary)}${of})`;
  const lines: string[] = [];
  const kinds = groupLayers(unaligned, ['node', 'precision'], 1).map(({ key, layers }) => {
    const [first] = layers;
    const is = first?.channels ?? [];
    const multiple = first === undefined ? 1 : channelMultiple(first);
    const padded = is.map((channels) => multiple * Math.ceil(channels / multiple));
    return `${printable(key)} ${is.join(' → ')}, padded ${padded.join(' → ')}${timeOf(layers)}`;
  });
  if (kinds.length > 0) {
    const more = kinds.length > NAMED ? `; ${kinds.length - NAMED} more` : '';
    lines.push(
      `tensor cores take multiples of 8 channels in fp16 and bf16, of 16 in fp8 and int8; not so in ${count(unaligned.length, 'layer')}${timeOf(unaligned, ' of the time')}: ${kinds.slice(0, NAMED).join('; ')}${more}`,
      '  pad these channels in the model (K and N of a matrix product): otherwise TensorRT pads them in each run, or uses a slower kernel',
    );
  }
  if (image !== null && totalMs !== null && sumMs([image]) >= WORTH_A_WORD * summary.totalMs) {
    lines.push(
      `the first convolution takes ${image.channels?.[0]} channels${timeOf([image], ' of the time')}, as images have: no multiple of ${channelMultiple(image)}, and not counted`,
    );
  }
  return lines;
}

/** In percent. A sum this close to the time without the profiler needs no explanation. */
const EQUAL_WITHIN = 2;

function overheadLines({ gpuComputeMs, medianMs, overheadPercent, summary }: LayersOutput): string[] {
  if (gpuComputeMs === null || medianMs === null || overheadPercent === null) return [];
  const { launchFloorMs } = summary;
  const line = `medians: sum of layers ${formatMs(medianMs)}, GPU compute time without the profiler ${formatMs(gpuComputeMs)}: ${formatPercent(overheadPercent)}`;
  const floor = `launches without a CUDA graph: ${formatNumber(launchFloorMs[0], 2)} to ${formatNumber(launchFloorMs[1], 2)} ms of the host, estimated at 5 to 15 µs each`;
  if (Math.abs(overheadPercent) <= EQUAL_WITHIN) return [`${line} (not for gating)`, floor];
  const why =
    overheadPercent > 0
      ? 'the profiler waits after each layer: shares are valid, times are too long'
      : 'layers ran side by side, or inside one another: shares are approximate';
  return [line, `  ${why}`, floor];
}
