import type { ReportLayers } from '../../html/page-data.ts';
import type { ChangeRows } from '../../layers/diff-layers.ts';
import { layerFactsOf, layerLabel } from '../../layers/layer-facts.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { SweepId } from '../../records/scalars.ts';
import { profiledLayers } from '../../selection/profiled-engine.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { layerRunsOfCells } from '../../store/runs/layer-runs.ts';
import { PURPOSE_WORDS } from '../../terminal/words.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { type CheckedFinding, firstOfEach } from '../check/index.ts';
import { CHANGE_WORDS } from '../layers/index.ts';
import { layersBetween } from '../why/index.ts';
import { shortened } from '../../html/markup.ts';
import { sumMs } from '../../layers/real-precision.ts';

/** Maximum number of layers drawn for a cell; `ALL_LAYERS` is the limit over all cells. Smaller layers are merged. */
const DRAWN_LAYERS = 240;
const ALL_LAYERS = 12_000;
const LEAST_LAYERS = 40;

/** The newest profile of each cell, by key: one with times if there is any. */
export function cellLayers(db: StoreDatabase, cells: readonly KeyedCell[], sweepIds: readonly SweepId[]) {
  const keys = cells.map(({ key }) => key);
  const layerRuns = layerRunsOfCells(db, keys, sweepIds);
  const drawn = Math.max(LEAST_LAYERS, Math.min(DRAWN_LAYERS, Math.floor(ALL_LAYERS / layerRuns.size)));
  const found = new Map<string, ReportLayers>();
  for (const key of keys) {
    const runs = layerRuns.get(key) ?? [];
    const run = runs.find(({ iterations }) => iterations !== null) ?? runs[0];
    const profile = run === undefined ? null : profiledLayers(db, run);
    if (run === undefined || profile === null) continue;
    const facts = layerFactsOf(profile.layers).toSorted((a, b) => b.averageMs - a.averageMs || a.index - b.index);
    const rest = facts.slice(drawn);
    const merged = rest.length === 0 ? [] : [{ ...MERGED, label: `${rest.length} smaller layers`, ms: sumMs(rest) }];
    const layers = facts
      .slice(0, drawn)
      .map((layer) => ({
        label: shortened(layerLabel(layer)),
        block: shortened(layer.block ?? `no ONNX node (${layer.kind})`),
        purpose: PURPOSE_WORDS[layer.kind],
        type: shortened(layer.type ?? ''),
        precision: shortened(layer.precisionIn ?? ''),
        tactic: shortened(layer.tactic ?? ''),
        ms: layer.averageMs,
      }));
    found.set(key, {
      runId: run.runId.slice(0, 8),
      sweep: sweepIds.indexOf(run.sweepId),
      iterations: run.iterations,
      totalMs: profile.total?.averageMs ?? sumMs(facts),
      layers: [...layers, ...merged],
      notes: profile.notes,
    });
  }
  return found;
}

const MERGED = { purpose: 'smaller layers', block: '', type: '', precision: '', tactic: '' };

/** The rows of a diff, the largest change first. */
function namedRows({ rows, unattributed, unchanged, unknown }: ChangeRows) {
  return [
    ...rows,
    ...(unattributed === null ? [] : [{ ...unattributed, label: 'without any ONNX node' }]),
    ...(unknown === null ? [] : [{ ...unknown, label: 'kernels without a name' }]),
    ...(unchanged === null ? [] : [{ ...unchanged, label: 'all other layers that kept their kernels' }]),
  ]
    .toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs))
    .map((changed) => {
      const { change, detail, label, parts: _, ...row } = changed;
      return { ...row, change: CHANGE_WORDS[change], label: shortened(label), detail: shortened(detail ?? '') };
    });
}

/** Layers before and after the change, in one cell of a finding. Times are of one query. */
export type FindingLayers = NonNullable<ReturnType<typeof layersOfFinding>>;

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
) {
  const [good = -1, bad = -1] = [finding.lastGood, finding.firstBad].map((one) => sweepIds.indexOf(one?.sweepId ?? ''));
  if (good < 0 || bad < 0) return null;
  for (const { key } of firstOfEach(finding).slice(0, TRIED_CELLS)) {
    const cell = cells.find((one) => one.key === key);
    if (cell === undefined) continue;
    const point = { cell, runId: null, name: key.slice(0, 8) };
    const { layers, notes, profiles } = layersBetween(
      db,
      { ...point, sweepIds: sweepIds.slice(0, good + 1) },
      { ...point, sweepIds: sweepIds.slice(bad) },
    );
    if (layers?.isTimed !== true || profiles === null) continue;
    const sides = profiles.map(({ sweepId }) => sweepId?.slice(0, 8) ?? '');
    const dates = profiles.map(({ startedAt }) => startedAt?.slice(0, 16).replace('T', ' ') ?? 'an unknown date');
    const { baseMs, headMs } = layers.diff;
    return {
      cell: key,
      /** The two compared profiles in words. */
      title: `profiles of ${dates.join(' and ')}`,
      baseMs,
      headMs,
      rows: namedRows(layers.rows),
      /** Shows the full diff. */
      command: shellLine(['bench', 'layers', point.name, '--diff', ...sides]),
      notes,
    };
  }
  return null;
}
