import { cellsOfSweeps, isPath, metricNamed } from '../../selection/by-name.ts';
import { assembleSides } from '../../judge/compare/assemble-sides.ts';
import { type CellRatio, geometricMean, NO_SHARED_NOISE, sharedNoise } from '../../judge/geometric-mean.ts';
import { compareMatrix, type JudgedCell, withThroughput } from '../../judge/compare/compare-matrix.ts';
import { gateRules } from '../../judge/gate/evidence.ts';
import { LEAST_PAST_SWEEPS, PAST_WINDOW_SWEEPS } from '../../judge/run-noise.ts';
import { valueKind } from '../../judge/value-rule.ts';
import { type KeyedCell, aboutCell } from '../../records/cell.ts';
import { UsageError, failOn } from '../../errors.ts';
import { NO_GATE } from '../../records/gated-metric.ts';
import { gateMetric, isMetric, type MetricId, metricOf } from '../../records/metric.ts';
import { COMPARE_BRANCH } from '../../records/sweep.ts';
import { countsOf, isCalled, VERDICTS } from '../../records/verdict.ts';
import type { ComparedCell, Comparison } from './output.ts';
import { compareText, type ComparisonDetails } from './text.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { plannedCells } from '../../store/cells.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { gateOf, planOf } from '../../store/sweeps/sweeps.ts';
import { namedShapesIn } from '../../run/stored-plan.ts';
import { judgedAmong } from '../../store/sweeps/findings.ts';
import { seriesOf, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { acrossMethods, pairsOf } from './compare-across-methods.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { CheckedSweep } from '../check/index.ts';
import { type Look, wrapWords } from '../../terminal/look.ts';
import { provenancesOf, resolveSides, type Side, type Sides } from '../../selection/sides.ts';
import type { CompareOptions } from './command.ts';

export async function compare(base: string | undefined, head: string | undefined, options: CompareOptions, io: Io) {
  if (base !== undefined && head !== undefined && isPath(base, io) && isPath(head, io)) {
    // Only files need the code that reads logs and exports.
    const { withRunsOf } = await import('../../selection/runs-of-paths.ts');
    return withRunsOf([base, head], io, async ({ db }, sweeps, notes) => {
      const sideOf = (ref: string, at: number) => ({ ref, sweeps: sweeps.slice(at, at + 1), note: notes[at] ?? null });
      const sides = { base: sideOf(base, 0), head: sideOf(head, 1) };
      return printReport(await compareReport(db, sides, options), options, io);
    });
  }
  return withStore(options, io, async (store) => {
    const isChosen = Object.entries(options).some(([name, value]) => value !== undefined && CHOICE.test(name));
    if (base !== undefined || isChosen) {
      const sides = await resolveSides(store.db, base, head, io, { branch: options.branch });
      const checked = options.json === true ? undefined : await judgedHead(store.db, sides.head, io);
      return printReport(await compareReport(store.db, sides, options), options, io, checked);
    }
    // Without a choice, the only question is which cells are slower than their reference.
    const { checkText, foundInAll, newestChecked } = await import('../check/index.ts');
    const { checked, note, others } = await newestChecked(store.db, { branch: options.branch }, io);
    const all = [checked, ...others];
    printResult(io, options, comparedToReference(checked, note), (_, look) => [
      ...checkText(all, false, look),
      ...(note === null ? [] : wrapWords(note, look.columns).map(look.style.warn)),
    ]);
    return failOn(options.failOn, foundInAll(all));
  });
}

/** The verdicts of the gate in the form of a comparison; base holds the reference levels. */
function comparedToReference({ findings, judged, series }: CheckedSweep, note: string | null): Comparison {
  const { sweep } = judged.series;
  const cells = series.cells.flatMap((judgedCell): ComparedCell[] => {
    const { levels: _, before, metric, now, notes, reason, referenceSweeps, runs, verdict, ...cell } = judgedCell;
    if (!isMetric(metric)) return [];
    const finding = findings.find(({ cells: keys, state }) => state !== 'recovered' && keys.includes(cell.key));
    const said = finding === undefined ? [] : [`finding ${finding.id.slice(0, 8)}: ${finding.state}`];
    const word = VERDICTS.find((one) => one === verdict || one === reason) ?? 'unclear';
    const sides = { base: before, head: now, runs: [referenceSweeps, runs] } as const;
    const unknown = { moreRunsNeeded: null, noise: null };
    const why = { reasons: [...notes, ...said], cause: finding?.likeliestCause ?? null };
    return [{ ...cell, metric, betterIs: metricOf(metric).betterIs, verdict: word, ...sides, ...unknown, ...why }];
  });
  const sides = { base: sideOutput({ sweeps: [], note: null }), head: sideOutput({ sweeps: [sweep], note }) };
  const about = { baseRef: 'reference', headRef: sweep.sweepId.slice(0, 8), ...sides, provenance: series.provenance };
  const nothing = { shift: null, across: [], otherMethods: 0 };
  return { schemaVersion: 2, ...about, ...nothing, cells, counts: countsOf(cells), geometricMeans: [] };
}

/** Options that choose what is compared, and how. */
const CHOICE = /^(?:across.+|filter|map|metric|minChange)$/;

/** The headline of `bench check` for the sweep of a side, if that sweep was judged. */
async function judgedHead(db: StoreDatabase, { sweeps }: Side, io: Io) {
  const [sweep, ...others] = sweeps;
  if (sweep === undefined || others.length > 0 || judgedAmong(db, [sweep.sweepId]).size === 0) return undefined;
  const { checkedSweep, closingText } = await import('../check/index.ts');
  const onlyThis = seriesOf(db, sweep, 1)[0]?.sweepId !== sweep.sweepId;
  const checked = await checkedSweep(db, sweep, io, { onlyNewest: onlyThis });
  return (look: Look) => ['', ...closingText(checked, look, `sweep ${sweep.sweepId.slice(0, 8)}`)];
}

type Text = (look: Look) => readonly string[];

/** @param gate what the gate says of the head */
export function printReport({ output, details }: Compared, options: CompareOptions, io: Io, gate: Text = () => []) {
  printResult(io, options, output, (_, look) => [...compareText(output, details, look, options.map), ...gate(look)]);
  const { counts, shift } = output;
  const regression = counts.slower > 0 || shift?.verdict === 'slower';
  // If nothing could be compared, a gate fails.
  const isNothing = counts.slower + counts.faster + counts.same + counts.unclear === 0;
  const failed = counts.failed > 0 || isNothing;
  return failOn(options.failOn, { regression, new: regression, failed, unclear: counts.unclear > 0 });
}

export type Compared = Awaited<ReturnType<typeof compareReport>>;

/** @throws UsageError if neither side has a cell */
export async function compareReport(db: StoreDatabase, sides: Sides, options: Partial<CompareOptions>) {
  const sweepIds = [...sides.base.sweeps, ...sides.head.sweeps].map(({ sweepId }) => sweepId);
  const chosen = cellsOfSweeps(db, sweepIds, options.filter);
  if (chosen.length === 0) throw new UsageError('neither side has a matching cell; see `bench ls cells`');
  const keys = chosen.map(({ key }) => key);
  const all = { base: comparedSide(db, sides.base, keys), head: comparedSide(db, sides.head, keys) };
  const metric = metricNamed(db, options.metric);
  const paired = options.acrossMethods === true ? acrossMethods(db, chosen, all, metric) : null;
  const { cells, base, head } = paired ?? { cells: chosen, ...all };
  const runs = [...base.runs, ...head.runs];
  const timed = runs.filter(({ role }) => role === 'timed');
  const byCell = Map.groupBy(timed, ({ cellKey }) => cellKey);
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const builds = findBuilds(db, [...new Set(runs.flatMap(({ buildId }) => buildId ?? []))]);
  const [newest] = sides.head.sweeps;
  const rules = gateRules(newest === undefined ? NO_GATE : gateOf(db, newest.sweepId), options.minChange ?? null);
  const oldest = sides.base.sweeps.at(-1);
  // Sides that were measured in turns have their sweep-to-sweep noise in common.
  const isInTurns = oldest?.branch === COMPARE_BRANCH;
  const before = oldest === undefined || isInTurns ? [] : seriesUntil(db, oldest, PAST_WINDOW_SWEEPS + 1);
  const earlier = before.filter(({ sweepId }) => !sweepIds.includes(sweepId)).toReversed();
  const isPastKnown = earlier.length >= LEAST_PAST_SWEEPS;
  const judgedBy = (requested: MetricId | null, own: readonly KeyedCell[]) => {
    const metricFor = (cell: KeyedCell) => paired?.metrics.get(cell.key) ?? gateMetric(requested, cell);
    const kindOf = (cell: KeyedCell) => valueKind(byCell.get(cell.key) ?? [], metricFor(cell));
    const histories = isPastKnown ? cellHistories(db, earlier, own, requested, 'newest', kindOf) : [];
    const past = new Map(histories.map((history) => [history.cell.key, history]));
    const facts = { environments, builds, past };
    const assembled = assembleSides(own, base, head, requested, options, facts, paired?.metrics);
    return { histories, ...compareMatrix(assembled, rules) };
  };
  const { histories, ...byOwn } = judgedBy(metric, cells);
  const hosted = (metric ?? paired) ? [] : cells.filter((cell) => gateMetric(null, cell) === 'gpuComputeMs');
  const judged = hosted.length === 0 ? byOwn : withThroughput(byOwn, judgedBy('throughputQps', hosted));
  const [provenance, ...others] = new Set([...provenancesOf(sides.base), ...provenancesOf(sides.head)]);
  const called = judged.cells.filter(isCalled).slice(0, EXPLAINED_CELLS);
  const explained = new Set(called.map(({ cellKey }) => cellKey));
  // Most comparisons have nothing to explain and start faster without this module.
  const why = called.length === 0 ? null : await import('../why/index.ts');
  const both = { base: sideOutput(sides.base), head: sideOutput(sides.head) };
  const shared = isInTurns ? NO_SHARED_NOISE : sharedNoise(histories.map(({ history }) => history));
  const output: Comparison = {
    schemaVersion: 2,
    baseRef: sides.base.ref,
    headRef: sides.head.ref,
    ...both,
    provenance: provenance === undefined || others.length > 0 ? [provenance ?? [], others].flat() : provenance,
    shift: judged.shift,
    across: [...(paired?.differences ?? []), ...judged.across],
    otherMethods: paired === null && metric !== 'p99Ms' ? pairsOf(chosen, all).length : 0,
    cells: judged.cells.map(({ cell, cellKey, metric: own, ...numbers }) => {
      const { betterIs } = metricOf(own);
      const sweepsOfSides = [both.base.sweepIds, both.head.sweepIds] as const;
      const cause = (explained.has(cellKey) && why?.firstCauseOf(db, cell, own, sweepsOfSides)) || null;
      return { ...aboutCell(cell, own), betterIs, ...numbers, cause };
    }),
    counts: countsOf(judged.cells),
    geometricMeans: geometricMeans(byOwn.cells, byOwn.ratios, shared),
  };
  const details: ComparisonDetails = {
    sides,
    cells: new Map(judged.cells.map(({ cell }) => [cell.key, cell])),
    namedShapes: namedShapesIn(options.map === undefined ? [] : sweepIds.map((sweepId) => planOf(db, sweepId))),
  };
  return { output, details };
}

function sideOutput({ sweeps, note }: Pick<Side, 'note' | 'sweeps'>): Comparison['base'] {
  const [{ commit = null, dirty = null } = {}] = sweeps;
  return { sweepIds: sweeps.map(({ sweepId }) => sweepId), commit, dirty, note };
}

const EXPLAINED_CELLS = 24;

type Mean = Comparison['geometricMeans'][number];
type Ratios = ReadonlyMap<string, CellRatio>;

/** Geometric means for each metric: over all cells, and over each model and precision if there are several. */
export function geometricMeans(cells: readonly JudgedCell[], ratios: Ratios, shared: typeof NO_SHARED_NOISE) {
  return [...Map.groupBy(cells, ({ metric }) => metric)].flatMap(([metric, own]) => {
    const meanOf = (by: Mean['by'], name: string | null, group: readonly JudgedCell[]): Mean[] => {
      const all = group.map(({ cell }) => ratios.get(cell.key) ?? { logRatio: null, noise: null });
      const mean = geometricMean(all, shared);
      return mean === null ? [] : [{ metric, by, name, ...mean }];
    };
    const parts = (['model', 'precision'] as const).flatMap((by) => {
      const groups = [...Map.groupBy(own, ({ cell }): string => cell[by])].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return groups.length < 2 ? [] : groups.flatMap(([name, group]) => meanOf(by, name, group));
    });
    return [...meanOf('all', null, own), ...parts];
  });
}

function comparedSide(db: StoreDatabase, side: Side, keys: readonly string[]) {
  const sweepIds = side.sweeps.map(({ sweepId }) => sweepId);
  const planned = plannedCells(db, sweepIds);
  return { runs: cellRunsOf(db, sweepIds, keys), planned, provenances: provenancesOf(side) };
}
