import type { FindingLayers } from './page/report-data.ts';
import type { ReportLayers, ReportLayersDiff } from '../../html/page-data.ts';
import { precisionTwinKey } from '../../judge/deployment.ts';
import { type ChangeRows, changeRows } from '../../layers/change-rows.ts';
import { diffLayers, type LayersDiff } from '../../layers/diff-layers.ts';
import { type LayerFacts, layerFactsOf, layerLabel } from '../../layers/layer-facts.ts';
import { sumMs } from '../../layers/summarize-layers.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Efficiency, EngineEfficiency } from '../../layers/work/efficiency.ts';
import { efficiencyReader, storedCircumstances } from '../../selection/engine-efficiency.ts';
import type { Io } from '../../cli/io.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { profiledLayers } from '../../selection/profiled-engine.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type LayerRun, layerRunsOfCells } from '../../store/runs/layer-runs.ts';
import { efficiencyLines } from '../../terminal/efficiency-text.ts';
import { formatPercent } from '../../terminal/numbers.ts';
import { PURPOSE_WORDS } from '../../terminal/words.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { type CheckedFinding, firstOfEach } from '../check/index.ts';
import { CHANGE_WORDS } from '../layers/index.ts';
import { layersBetween } from '../why/index.ts';
import { shortened } from '../../html/markup.ts';

/** Maximum number of layers drawn for a cell; `ALL_LAYERS` is the limit over all cells. Smaller layers are merged. */
const DRAWN_LAYERS = 240;
const ALL_LAYERS = 12_000;
const LEAST_LAYERS = 40;
const SHOWN_CHANGES = 16;
const REFERENCES = ['fp16', 'fp32', 'tf32'];

interface CellLayers {
  readonly layers: ReportLayers | null;
  readonly diffs: readonly ReportLayersDiff[];
}

interface Profile extends Pick<ProfiledEngine, 'notes' | 'total'> {
  readonly run: LayerRun;
  readonly facts: readonly LayerFacts[];
}

/** The newest profile of each cell and its layer diff, by key. */
export async function cellLayers(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  sweepIds: readonly SweepId[],
  io: Io,
): Promise<Map<string, CellLayers>> {
  const places = new Map(sweepIds.map((id, sweep) => [id, sweep]));
  const keys = cells.map(({ key }) => key);
  const layerRuns = layerRunsOfCells(db, keys, sweepIds);
  const profiles = new Map(keys.map((key) => [key, profilesOf(db, layerRuns.get(key) ?? [])]));
  const twins = Map.groupBy(cells, precisionTwinKey);
  const profiled = [...profiles.values()].filter(({ length }) => length > 0).length;
  const drawn = Math.max(LEAST_LAYERS, Math.min(DRAWN_LAYERS, Math.floor(ALL_LAYERS / profiled)));
  const newestOfCells = cells.flatMap((cell) => {
    const [newest, before] = profiles.get(cell.key) ?? [];
    return newest === undefined ? [] : [{ cell, newest, before }];
  });
  const circumstances = new Map(
    await Promise.all(
      newestOfCells.map(
        async ({ cell, newest }) => [cell, await storedCircumstances(db, newest.run, cell, null)] as const,
      ),
    ),
  );
  const efficiencyOf = await efficiencyReader([...circumstances.values()], io);
  const found = new Map<string, CellLayers>();
  for (const { cell, newest, before } of newestOfCells) {
    const sweep = places.get(newest.run.sweepId) ?? null;
    const siblings = twins.get(precisionTwinKey(cell)) ?? [];
    const reference = REFERENCES.flatMap((name) => siblings.find(({ precision }) => precision === name) ?? [])[0];
    const [twin] = reference === undefined || reference === cell ? [] : (profiles.get(reference.key) ?? []);
    const earlier = `its profile of ${dayOf(before?.run)}`;
    const { run, facts } = newest;
    const known = circumstances.get(cell);
    const isKnown = known !== undefined && typeof known.model !== 'string';
    const efficiency = isKnown ? efficiencyOf(facts, known, run.gpuComputeMs ?? known.gpuComputeMs) : null;
    found.set(cell.key, {
      layers: asLayers(newest, sweep, drawn, efficiency),
      diffs: [
        ...diffOf(`against ${earlier}`, before, newest),
        ...diffOf(`against ${reference?.precision ?? ''}`, twin, newest),
      ],
    });
  }
  return found;
}

function dayOf(run: LayerRun | undefined): string {
  return run?.startedAt?.slice(0, 10) ?? 'before';
}

/** At most two timed profiles of different sweeps, newest first; without times, one with names only. */
function profilesOf(db: StoreDatabase, runs: readonly LayerRun[]): Profile[] {
  const timed = runs.filter(({ iterations }) => iterations !== null);
  const [newest = runs[0]] = timed;
  if (newest === undefined) return [];
  const before = timed.find(({ sweepId }) => sweepId !== newest.sweepId);
  return [newest, before].flatMap((run) => {
    const found = run === undefined ? null : profiledLayers(db, run);
    return run === undefined || found === null ? [] : [{ ...found, run, facts: layerFactsOf(found.layers) }];
  });
}

function asLayers(
  { run, facts, notes, total }: Profile,
  sweep: number | null,
  drawn: number,
  efficiency: { readonly engine: EngineEfficiency; readonly layers: readonly Efficiency[] | null } | null,
): ReportLayers {
  const ofLayer = new Map(facts.map((layer, place) => [layer, efficiency?.layers?.[place] ?? null]));
  const sorted = facts.toSorted((a, b) => b.averageMs - a.averageMs || a.index - b.index);
  const rest = sorted.slice(drawn);
  return {
    runId: run.runId.slice(0, 8),
    sweep,
    iterations: run.iterations,
    totalMs: total?.averageMs ?? sumMs(facts),
    layers: sorted
      .slice(0, drawn)
      .map((layer) => ({
        label: shortened(layerLabel(layer)),
        block: shortened(layer.block ?? `no ONNX node (${layer.kind})`),
        purpose: PURPOSE_WORDS[layer.kind],
        type: shortened(layer.type ?? ''),
        precision: shortened(layer.precisionIn ?? ''),
        tactic: shortened(layer.tactic ?? ''),
        peak: peakText(ofLayer.get(layer)?.peakShare ?? null),
        limit: ofLayer.get(layer)?.bound ?? '',
        ms: layer.averageMs,
      })),
    rest: { layers: rest.length, ms: sumMs(rest) },
    efficiency: efficiency === null ? [] : efficiencyLines(efficiency.engine),
    notes,
  };
}

function peakText(share: number | null): string {
  return share === null ? '' : formatPercent(share * 100, false);
}

function diffOf(title: string, base: Profile | undefined, head: Profile): ReportLayersDiff[] {
  if (base === undefined || base.run.iterations === null || head.run.iterations === null) return [];
  const diff = diffLayers(base.facts, head.facts);
  return [reportedDiff(title, diff, changeRows(diff))];
}

/** Largest change first. */
function reportedDiff(
  title: string,
  { baseMs, headMs }: LayersDiff,
  { rows, unattributed, unchanged, unknown }: ChangeRows,
): ReportLayersDiff {
  const named = [
    ...(unattributed === null ? [] : [{ ...unattributed, label: 'without any ONNX node' }]),
    ...(unknown === null ? [] : [{ ...unknown, label: 'kernels without a name' }]),
    ...(unchanged === null ? [] : [{ ...unchanged, label: 'all layers that kept their kernels' }]),
  ];
  const rest = rows.slice(SHOWN_CHANGES);
  return {
    title,
    baseMs,
    headMs,
    rows: [...rows.slice(0, SHOWN_CHANGES), ...named]
      .toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs))
      .map((row) => ({
        change: CHANGE_WORDS[row.change],
        label: shortened(row.label),
        detail: shortened(row.detail ?? ''),
        layers: [row.baseLayers, row.headLayers],
        baseMs: row.baseMs,
        headMs: row.headMs,
      })),
    moreRows: rest.length,
    moreMs: rest.reduce((sum, { deltaMs }) => sum + deltaMs, 0),
  };
}

/** Maximum number of cells of a finding that are searched for profiles. */
const TRIED_CELLS = 12;

/**
 * The clearest cell of a finding with a layer profile before and after the change, chosen as in `bench why`. Null
 * without one, or if the report lacks a sweep of the change.
 */
export function layersOfFinding(
  db: StoreDatabase,
  finding: Pick<CheckedFinding, 'details' | 'firstBad' | 'lastGood'>,
  cells: readonly KeyedCell[],
  sweepIds: readonly SweepId[],
): FindingLayers | null {
  const [good = -1, bad = -1] = [finding.lastGood, finding.firstBad].map((one) => sweepIds.indexOf(one?.sweepId ?? ''));
  if (good < 0 || bad < 0) return null;
  let best: FindingLayers | null = null;
  for (const { key } of firstOfEach(finding).slice(0, TRIED_CELLS)) {
    const cell = cells.find((one) => one.key === key);
    if (cell === undefined) continue;
    const point = { cell, runId: null, name: key.slice(0, 8) };
    const [base, head] = [
      { ...point, sweepIds: sweepIds.slice(0, good + 1) },
      { ...point, sweepIds: sweepIds.slice(bad) },
    ];
    const { layers, notes, profiles } = layersBetween(db, base, head);
    if (layers?.isTimed !== true || profiles === null) continue;
    const sides = profiles.map(({ sweepId }) => sweepId?.slice(0, 8) ?? '');
    const dates = profiles.map(({ startedAt }) => startedAt?.slice(0, 16).replace('T', ' ') ?? 'an unknown date');
    const found = {
      cell: key,
      diff: reportedDiff(`profiles of ${dates.join(' and ')}`, layers.diff, layers.rows),
      command: shellLine(['bench', 'layers', point.name, '--diff', ...sides]),
      notes,
    };
    if (layers.otherCell === null) return found;
    best ??= found;
  }
  return best;
}
