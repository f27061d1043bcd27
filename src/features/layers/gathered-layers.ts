import type { ProfiledEngine } from '../../layers/layer-info.ts';
import type { ChangeRow, ChangeRows } from '../../layers/change-rows.ts';
import type { LayersDiff } from '../../layers/diff-layers.ts';
import type { LayerFacts } from '../../layers/layer-facts.ts';
import { type LayerGroup, type LayersSummary, sumMs } from '../../layers/summarize-layers.ts';
import type { LayersDiffOutput, LayersOutput } from './output.ts';

/**
 * @param layers the chosen ones, in the order that was requested
 * @param groups null when each layer has a line of its own; `isSummedUp`: one line for all of the chosen ones
 */
export function layersOutput(
  engine: ProfiledEngine,
  summary: LayersSummary,
  layers: readonly LayerFacts[],
  { groups, isSummedUp }: { readonly groups: readonly LayerGroup[] | null; readonly isSummedUp: boolean },
): LayersOutput {
  return {
    schemaVersion: 1,
    ...engineOutput(engine),
    totalMs: hasTimes(engine) ? summary.totalMs : null,
    summary,
    layers,
    aggregate: isSummedUp ? aggregateOf(engine, summary, layers) : null,
    groups:
      groups?.map(({ key, layers: members, totalMs }) => ({
        key,
        layers: members.map(({ index }) => index),
        totalMs,
        ...spread(members),
      })) ?? null,
  };
}

function aggregateOf(
  engine: ProfiledEngine,
  summary: LayersSummary,
  layers: readonly LayerFacts[],
): LayersOutput['aggregate'] {
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

function spread(layers: readonly LayerFacts[]) {
  const times = layers.map(({ averageMs }) => averageMs);
  return {
    minMs: times.reduce((least, time) => Math.min(least, time), Infinity),
    meanMs: sumMs(layers) / layers.length,
    maxMs: times.reduce((most, time) => Math.max(most, time), 0),
  };
}

function engineOutput(engine: ProfiledEngine) {
  const { ref, runId, sweepId, cellLabel, provenance, startedAt } = engine;
  const { iterations, gpuComputeMs, notes } = engine;
  return { ref, runId, sweepId, label: cellLabel, provenance, startedAt, iterations, gpuComputeMs, notes };
}

function hasTimes({ iterations }: ProfiledEngine): boolean {
  return iterations !== null;
}

export function layersDiffOutput(
  base: ProfiledEngine,
  head: ProfiledEngine,
  diff: LayersDiff,
  { rows, unknown, unchanged, unattributed }: ChangeRows,
): LayersDiffOutput {
  const timed = hasTimes(base) && hasTimes(head);
  return {
    schemaVersion: 1,
    base: { ...engineOutput(base), layers: base.layers.length, totalMs: timed ? diff.baseMs : null },
    head: { ...engineOutput(head), layers: head.layers.length, totalMs: timed ? diff.headMs : null },
    deltaMs: timed ? diff.deltaMs : null,
    commonPercent: diff.commonPercent,
    rows: rows.map((row) => rowOutput(row, timed)),
    unknown: unknown === null ? null : rowOutput(unknown, timed),
    unchanged: unchanged === null ? null : rowOutput(unchanged, timed),
    unattributed: unattributed === null ? null : rowOutput(unattributed, timed),
  };
}

export function rowOutput(row: ChangeRow, timed: boolean): LayersDiffOutput['rows'][number] {
  const { change, label, detail, isCause, baseLayers, headLayers, parts } = row;
  return {
    change,
    label,
    detail,
    isCause,
    baseLayers,
    headLayers,
    baseMs: timed ? row.baseMs : null,
    headMs: timed ? row.headMs : null,
    deltaMs: timed ? row.deltaMs : null,
    moved: parts.filter(({ moved }) => moved).length,
    parts: parts.map((part) => ({
      base: part.base.map(({ name }) => name),
      head: part.head.map(({ name }) => name),
      baseKernels: part.base.map(({ tactic }) => tactic),
      headKernels: part.head.map(({ tactic }) => tactic),
      deltaMs: timed ? part.deltaMs : null,
    })),
  };
}
