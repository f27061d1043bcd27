import type { LayerFacts } from '../../layers/layer-facts.ts';
import { layerLabel } from '../../layers/layer-label.ts';
import { type LayerGroup, type LayersSummary, sumMs } from '../../layers/summarize-layers.ts';
import { printable } from '../../text/printable.ts';
import type { ProfiledEngine } from '../../engines/profiled-engine.ts';
import { PURPOSE_WORDS } from '../../terminal/layer-words.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { truncate, wrapHanging } from '../../terminal/text-width.ts';

export interface LayersReport {
  readonly engine: ProfiledEngine;
  readonly summary: LayersSummary;
  /** Those that were chosen, in the order that was asked for. */
  readonly layers: readonly LayerFacts[];
  /** Null when each layer stands for itself. */
  readonly groups: readonly LayerGroup[] | null;
  /** One line for all of the chosen ones. */
  readonly isSummedUp: boolean;
  /** Kinds of layers that compute in 16 bits or more, and take a share worth a look, the largest first. */
  readonly islands: readonly LayerGroup[];
  /** So many lines; the rest is summed up. */
  readonly top: number;
}

export function layersJson({ engine, summary, layers, groups, isSummedUp }: LayersReport) {
  return {
    schemaVersion: 1,
    ...engineJson(engine),
    totalMs: hasTimes(engine) ? summary.totalMs : null,
    summary,
    layers: layers.map((layer) => ({ ...layer, nodes: [...layer.nodes] })),
    aggregate: isSummedUp ? aggregateJson(engine, summary, layers) : null,
    groups:
      groups?.map(({ key, layers: members, totalMs }) => ({
        key,
        layers: members.map(({ index }) => index),
        totalMs,
        ...spread(members),
      })) ?? null,
  };
}

function aggregateJson(engine: ProfiledEngine, summary: LayersSummary, layers: readonly LayerFacts[]) {
  const totalMs = sumMs(layers);
  if (!hasTimes(engine)) {
    return { layers: layers.length, totalMs: null, sharePercent: null, minMs: null, meanMs: null, maxMs: null };
  }
  return {
    layers: layers.length,
    totalMs,
    sharePercent: summary.totalMs > 0 ? (totalMs / summary.totalMs) * 100 : null,
    ...spread(layers),
  };
}

export function engineJson(engine: ProfiledEngine) {
  const { ref, runId, sweepId, cellLabel, provenance, startedAt } = engine;
  const { iterations, gpuComputeMs, notes } = engine;
  return { ref, runId, sweepId, label: cellLabel, provenance, startedAt, iterations, gpuComputeMs, notes };
}

export function hasTimes({ iterations }: ProfiledEngine): boolean {
  return iterations !== null;
}

export function layersText(report: LayersReport, look: Look): string[] {
  const { engine, summary, groups, layers } = report;
  const { style, columns } = look;
  const time = hasTimes(engine) ? `, ${formatMs(summary.totalMs)} a query` : '';
  return [
    ...wrapHanging(titleOf(engine), columns, 2).map(style.strong),
    ...wrapHanging(
      `${count(summary.layers, 'layer')}${time} · ${engine.provenance}, run ${engine.runId.slice(0, 8)}${profileWords(engine)}`,
      columns,
      2,
    ),
    ...engine.notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn)),
    '',
    ...tableOf(report, look),
    ...(layers.length < summary.layers ? [style.dim(selectionLine(report))] : []),
    ...(groups === null && !report.isSummedUp && layers.length <= DETAILED
      ? layers.flatMap((layer) => details(layer, look))
      : []),
    '',
    ...summaryLines(report).flatMap((line) => wrapHanging(line, columns, 4)),
  ];
}

function tableOf(report: LayersReport, look: Look): string[] {
  const { groups, isSummedUp, layers, summary } = report;
  if (groups !== null) return groupTable(groups, report, look);
  if (!isSummedUp) return layerTable(report, look);
  const key = layers.length < summary.layers ? 'all that are chosen' : 'all layers';
  return groupTable([{ key, layers, totalMs: sumMs(layers) }], report, look);
}

function titleOf({ cellLabel, ref }: ProfiledEngine): string {
  return `layers of ${printable(cellLabel ?? ref)}`;
}

function profileWords({ iterations }: ProfiledEngine): string {
  return iterations === null ? ', no profile: names and kernels only' : `, mean of ${iterations} profiled queries`;
}

function selectionLine({ layers, summary, engine }: LayersReport): string {
  const share = hasTimes(engine) ? `, ${formatMs(sumMs(layers))} (${sharePercent(sumMs(layers), summary)})` : '';
  return `${count(layers.length, 'layer')} of ${summary.layers} chosen${share}`;
}

/** So few are shown with all that is known of them. */
const DETAILED = 3;

function details(layer: LayerFacts, look: Look): string[] {
  const lines = [
    ['layer', layer.name],
    ['block', layer.block],
    ['tactic', layer.tactic],
    ...layer.origins.map((origin, place) => [place === 0 ? 'from' : '', origin] as const),
  ] as const;
  return [
    '',
    ...lines.flatMap(([name, text]) =>
      text === null ? [] : [truncate(`  ${look.style.dim((name ?? '').padEnd(6))} ${printable(text)}`, look.columns)],
    ),
  ];
}

interface LayerRow {
  readonly ms: number;
  readonly upTo: number | null;
  readonly type: string;
  readonly precision: string;
  readonly layer: string;
  readonly tactic: string;
  readonly name: string;
}

function layerTable({ layers, engine, summary, top }: LayersReport, look: Look): string[] {
  const shown = layers.slice(0, top);
  const rest = layers.slice(top);
  let sum = 0;
  const rows = shown.map((layer): LayerRow => {
    sum += layer.averageMs;
    return {
      ms: layer.averageMs,
      upTo: sum,
      type: printable(layer.type ?? ''),
      precision: precisionText(layer),
      layer: printable(layerLabel(layer)),
      tactic: printable(layer.tactic ?? ''),
      name: printable(layer.name),
    };
  });
  if (rest.length > 0) {
    const more = { type: '', precision: '', tactic: '', name: '' };
    const left = sumMs(rest);
    rows.push({ ...more, ms: left, upTo: sum + left, layer: `${rest.length} more (--top, --all)` });
  }
  const times: Column<LayerRow>[] = [
    { header: 'mean', text: ({ ms }) => formatMs(ms), align: 'right' },
    { header: 'share', text: ({ ms }) => sharePercent(ms, summary), align: 'right' },
    {
      header: 'so far',
      text: ({ upTo }) => (upTo === null ? '' : sharePercent(upTo, summary)),
      align: 'right',
      dropRank: 4,
    },
  ];
  return renderTable<LayerRow>(
    [
      ...(hasTimes(engine) ? times : []),
      { header: 'type', text: ({ type }) => type, dropRank: 3 },
      { header: 'in → out', text: ({ precision }) => precision, dropRank: 2 },
      { header: 'ONNX nodes, or name', text: ({ layer }) => layer, minWidth: 26 },
      { header: 'engine layer', text: ({ name }) => name, minWidth: 16, dropRank: 5 },
      { header: 'tactic', text: ({ tactic }) => tactic, minWidth: 16, dropRank: 6 },
    ],
    rows,
    look,
  );
}

function precisionText({ precisionIn, precisionOut }: LayerFacts): string {
  if (precisionIn === null && precisionOut === null) return '';
  if (precisionIn === precisionOut) return precisionIn ?? '';
  return `${precisionIn ?? '?'} → ${precisionOut ?? '?'}`;
}

function groupTable(groups: readonly LayerGroup[], { engine, summary, top }: LayersReport, look: Look): string[] {
  const rest = groups.slice(top);
  const restLayers = rest.flatMap(({ layers }) => layers);
  const rows = groups.slice(0, top);
  if (rest.length > 0) {
    rows.push({ key: `${rest.length} more`, layers: restLayers, totalMs: sumMs(restLayers) });
  }
  const right = 'right' as const;
  const times: Column<LayerGroup>[] = [
    { header: 'total', text: ({ totalMs }) => formatMs(totalMs), align: right },
    { header: 'share', text: ({ totalMs }) => sharePercent(totalMs, summary), align: right },
  ];
  const spreads: Column<LayerGroup>[] = [
    { header: 'min', text: ({ layers }) => shortMs(spread(layers).minMs), align: right, dropRank: 2 },
    { header: 'mean', text: ({ layers }) => shortMs(spread(layers).meanMs), align: right, dropRank: 1 },
    { header: 'max', text: ({ layers }) => shortMs(spread(layers).maxMs), align: right, dropRank: 2 },
  ];
  return renderTable<LayerGroup>(
    [
      ...(hasTimes(engine) ? times : []),
      { header: 'layers', text: ({ layers }) => String(layers.length), align: right },
      ...(hasTimes(engine) ? spreads : []),
      { header: 'group', text: ({ key }) => printable(key), minWidth: 16 },
    ],
    rows,
    look,
  );
}

function shortMs(value: number): string {
  return formatNumber(value, 3);
}

function spread(layers: readonly LayerFacts[]) {
  const times = layers.map(({ averageMs }) => averageMs);
  return {
    minMs: times.reduce((least, time) => Math.min(least, time), Infinity),
    meanMs: sumMs(layers) / layers.length,
    maxMs: times.reduce((most, time) => Math.max(most, time), 0),
  };
}

function sharePercent(value: number, { totalMs }: LayersSummary): string {
  return totalMs > 0 ? formatPercent((value / totalMs) * 100, false) : '–';
}

function summaryLines(report: LayersReport): string[] {
  const { engine, summary } = report;
  const lines: string[] = [];
  if (hasTimes(engine)) {
    const named = (['reformat', 'cast', 'shape'] as const).flatMap((kind) => {
      const ms = summary.overheadMs[kind];
      const share = sharePercent(ms, summary);
      return ms > 0 ? [`${PURPOSE_WORDS[kind]} ${formatMs(ms)} (${share})`] : [];
    });
    if (named.length > 0) lines.push(`beside ${PURPOSE_WORDS.compute}: ${named.join(', ')}`);
    const shares = summary.precisionShares.map(
      ({ precision, share }) => `${precision} ${formatPercent(share * 100, false)}`,
    );
    lines.push(`time by the type taken in: ${shares.join(', ')}`);
    lines.push(...islandLines(report), ...overheadLines(engine, summary));
  }
  if (summary.opaqueShare > 0.5) {
    lines.push(
      `${formatPercent(summary.opaqueShare * 100, false)} of the time is in regions that show nothing of themselves: Nsight Systems sees the kernels within`,
    );
  }
  if (summary.olderKernelShare > 0) {
    lines.push(
      `${formatPercent(summary.olderKernelShare * 100, false)} of the time is in kernels for GPUs older than sm${summary.newestArchitecture}`,
    );
  }
  return lines;
}

const LOW_PRECISIONS = ['fp8', 'int8', 'fp4', 'int4'];

/** Layers of a quantized network that stay in a wider type, and take their time. */
function islandLines({ islands, summary }: LayersReport): string[] {
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

/** A sum this close to the time without the profiler needs no remark. */
const ALIKE = 0.02;

function overheadLines({ gpuComputeMs }: ProfiledEngine, summary: LayersSummary): string[] {
  const { totalMs, launchFloorMs } = summary;
  if (gpuComputeMs === null || totalMs === 0) return [];
  const over = totalMs / gpuComputeMs - 1;
  const line = `sum of layers ${formatMs(totalMs)}, GPU compute time without the profiler ${formatMs(gpuComputeMs)}: ${formatPercent(over * 100)}`;
  const floor = `launches alone take ${formatNumber(launchFloorMs[0], 2)} to ${formatNumber(launchFloorMs[1], 2)} ms of the host without a CUDA graph`;
  if (Math.abs(over) <= ALIKE) return [line, floor];
  const why =
    over > 0
      ? 'the profiler waits after each layer; shares hold, times are not for gating'
      : 'layers ran side by side, or inside one another; shares hold only roughly';
  return [line, `  ${why}`, floor];
}
