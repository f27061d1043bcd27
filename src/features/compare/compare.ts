import { cellsOfSweeps, metricNamed } from '../../selection/by-name.ts';
import { assembleSides, isTimed } from '../../judge/compare/assemble-sides.ts';
import {
  type CellRatio,
  geometricMean,
  NO_SHARED_NOISE,
  type Noise,
  sharedNoise,
  valuesByPlace,
} from '../../judge/geometric-mean.ts';
import { compareMatrix, type JudgedCell, withThroughput } from '../../judge/compare/compare-matrix.ts';
import { gateRules } from '../../judge/gate/evidence.ts';
import { LEAST_PAST_SWEEPS, PAST_WINDOW_SWEEPS } from '../../judge/run-noise.ts';
import { valueKind, type ValueKind } from '../../judge/value-rule.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { UsageError } from '../../errors.ts';
import { type ExitCode, failOn } from '../../exit-codes.ts';
import type { FirstCause } from '../../records/cause.ts';
import { NO_GATE } from '../../records/gated-metric.ts';
import { gateMetric, type MetricId, metricOf } from '../../records/metric.ts';
import { COMPARE_BRANCH } from '../../records/sweep.ts';
import { isCalled } from '../../records/verdict.ts';
import { aboutCell } from '../../records/cell-label.ts';
import { median } from '../../statistics/order-statistics.ts';
import { readGitState } from '../../tools/git/git.ts';
import type { ComparedCell, Comparison } from './output.ts';
import type { Compared } from './cell-text.ts';
import { compareText } from './text.ts';
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
import type { CellSweeps } from '../../judge/gate/fit-runs.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { isPath } from '../../selection/by-name.ts';
import { withStore } from '../../cli/with-store.ts';
import type { WhyPoint } from '../why/index.ts';
import type { Look } from '../../terminal/look.ts';
import { wrapWords } from '../../terminal/text-width.ts';
import { provenancesOf, resolveSides, type Side } from '../../selection/sides.ts';
import type { CompareOptions } from './command.ts';

export async function compare(
  base: string | undefined,
  head: string | undefined,
  options: CompareOptions,
  io: Io,
): Promise<ExitCode> {
  if (base !== undefined && head !== undefined && isPath(base, io) && isPath(head, io)) {
    // Only files need the code that reads logs and exports.
    const { withRunsOf } = await import('../../selection/runs-of-paths.ts');
    return withRunsOf([base, head], io, async ({ db }, sweeps, notes) => {
      const sideOf = (ref: string, place: number): Side => {
        return { ref, sweeps: sweeps.slice(place, place + 1), note: notes[place] ?? null };
      };
      return printReport(
        await compareReport(db, { base: sideOf(base, 0), head: sideOf(head, 1) }, options),
        options,
        io,
      );
    });
  }
  const git = readGitState(io.cwd);
  return withStore(options, io, async (store) => {
    const sides = await resolveSides(store.db, base, head, io, { git, branch: options.branch });
    const [newest] = sides.head.sweeps;
    if (base !== undefined || newest === undefined || CHOICES.some((name) => options[name] !== undefined)) {
      const checked = options.json === true ? null : await judgedHead(store.db, sides.head, io);
      return printReport(await compareReport(store.db, sides, options), options, io, checked);
    }
    // Without a choice, the only question is which cells are slower than their reference.
    const { checkedSweep, checkText, foundIn } = await import('../check/index.ts');
    const { comparedToReference } = await import('./compare-to-reference.ts');
    const checked = await checkedSweep(store.db, newest, io);
    const { note } = sides.head;
    printResult(io, options, comparedToReference(checked, note), (_, look) => [
      ...checkText([checked], false, look),
      ...(note === null ? [] : wrapWords(note, look.columns).map(look.style.warn)),
    ]);
    return failOn(options.failOn, foundIn([checked.standing]));
  });
}

const CHOICES = [
  'filter',
  'map',
  'metric',
  'minChange',
  'acrossMethods',
  'acrossClocks',
  'acrossGpu',
  'acrossProvenance',
  'acrossTensorrt',
] as const;

/** The headline of `bench check` for the sweep of a side, if that sweep was judged. */
async function judgedHead(db: StoreDatabase, { sweeps }: Side, io: Io) {
  const [sweep, ...others] = sweeps;
  if (sweep === undefined || others.length > 0 || judgedAmong(db, [sweep.sweepId]).size === 0) return null;
  const { checkedSweep, closingText } = await import('../check/index.ts');
  const onlyThis = seriesOf(db, sweep, 1)[0]?.sweepId !== sweep.sweepId;
  const checked = await checkedSweep(db, sweep, io, onlyThis);
  return (look: Look) => closingText(checked, look, `sweep ${sweep.sweepId.slice(0, 8)}`);
}

export function printReport(
  { output, details }: Compared,
  options: CompareOptions,
  io: Io,
  closing: ((look: Look) => readonly string[]) | null = null,
): ExitCode {
  printResult(io, options, output, (_, look) => [
    ...compareText(output, details, look, options.map),
    ...(closing === null ? [] : ['', ...closing(look)]),
  ]);
  const { counts, shift } = output;
  const regression = counts.slower > 0 || shift?.verdict === 'slower';
  // If nothing could be compared, a gate fails.
  const isNothing = counts.incomparable > 0 && counts.slower + counts.faster + counts.same + counts.unclear === 0;
  const failed = counts.failed > 0 || isNothing;
  return failOn(options.failOn, { regression, failed, unclear: counts.unclear > 0 });
}

type Sides = Compared['details']['sides'];

/** @throws UsageError if neither side has a cell */
export async function compareReport(
  db: StoreDatabase,
  sides: Sides,
  options: Omit<CompareOptions, 'json' | 'db' | 'failOn' | 'branch'>,
): Promise<Compared> {
  const sweepIds = [...sides.base.sweeps, ...sides.head.sweeps].map(({ sweepId }) => sweepId);
  const chosen = cellsOfSweeps(db, sweepIds, options.filter);
  if (chosen.length === 0) {
    throw new UsageError('neither side has a matching cell; see `bench ls sweeps` and `bench ls cells`');
  }
  const [allOfBase, allOfHead] = [comparedSide(db, sides.base, chosen), comparedSide(db, sides.head, chosen)];
  const metric = metricNamed(db, options.metric);
  const paired = options.acrossMethods === true ? acrossMethods(db, chosen, allOfBase, allOfHead, metric) : null;
  const { cells, base, head } = paired ?? { cells: chosen, base: allOfBase, head: allOfHead };
  const all = [...base.runs, ...allOfHead.runs];
  const timed = Map.groupBy([...base.runs, ...head.runs].filter(isTimed), ({ cellKey }) => cellKey);
  const environments = findEnvironments(db, unique(all.map(({ environmentId }) => environmentId)));
  const builds = findBuilds(db, unique(all.flatMap(({ buildId }) => buildId ?? [])));
  const across = {
    provenance: options.acrossProvenance === true,
    gpu: options.acrossGpu === true,
    tensorrt: options.acrossTensorrt === true,
    clocks: options.acrossClocks === true,
  };
  const [newest] = sides.head.sweeps;
  const rules = gateRules(newest === undefined ? NO_GATE : gateOf(db, newest.sweepId), options.minChange ?? null);
  const judgedBy = (requested: MetricId | null, own: readonly KeyedCell[]) => {
    const metricFor = (cell: KeyedCell) => paired?.metrics.get(cell.key) ?? gateMetric(requested, cell);
    const kinds = new Map(own.map((cell) => [cell.key, valueKind(timed.get(cell.key) ?? [], metricFor(cell))]));
    const past = new Map(pastOf(db, own, sides, requested, kinds).map((history) => [history.cell.key, history]));
    const facts = { environments, builds, past };
    const assembled = assembleSides(own, base, head, requested, across, facts, paired?.metrics);
    return { past, ...compareMatrix(assembled, rules) };
  };
  const { past, ...byOwn } = judgedBy(metric, cells);
  const hosted =
    metric === null && paired === null ? cells.filter((cell) => gateMetric(null, cell) === 'gpuComputeMs') : [];
  const judged = hosted.length === 0 ? byOwn : withThroughput(byOwn, judgedBy('throughputQps', hosted));
  const [provenance, ...others] = unique([...provenancesOf(sides.base), ...provenancesOf(sides.head)]);
  const causes = await causesOf(db, judged.cells, sides);
  const shared = sharedNoiseOf(past, sides);
  return {
    output: {
      schemaVersion: 2,
      baseRef: sides.base.ref,
      headRef: sides.head.ref,
      base: sideOutput(sides.base),
      head: sideOutput(sides.head),
      provenance: provenance === undefined || others.length > 0 ? [provenance ?? [], others].flat() : provenance,
      shift: judged.shift,
      across: [...(paired?.differences ?? []), ...judged.across],
      otherMethods: paired === null ? pairsOf(chosen, base, allOfHead).length : 0,
      cells: judged.cells.map((entry) => cellOutput(entry, causes.get(entry) ?? null)),
      counts: judged.counts,
      geometricMeans: geometricMeans(byOwn.cells, byOwn.ratios, shared),
    },
    details: {
      sides,
      cells: new Map(judged.cells.map((entry) => [entry.cell.key, entry])),
      namedShapes: namedShapesIn(options.map === undefined ? [] : sweepIds.map((sweepId) => planOf(db, sweepId))),
    },
  };
}

function sideOutput({ sweeps, note }: Side): Comparison['base'] {
  const [{ commit = null, dirty = null } = {}] = sweeps;
  return { sweepIds: sweeps.map(({ sweepId }) => sweepId), commit, dirty, note };
}

function cellOutput({ cell, metric, comparison, values }: JudgedCell, cause: FirstCause | null): ComparedCell {
  const { cellKey: _, ...numbers } = comparison;
  const about = { ...aboutCell(cell, metric), betterIs: metricOf(metric).betterIs, ...numbers, cause };
  if (values === null) return about;
  // Medians, as `bench run` and `bench trend` show them. The change is that of the means, which estimate it better; within
  // noise it is that of the medians, because the means may have the opposite sign.
  const [base, head] = [median(values[0]), median(values[1])];
  const [low, high] = numbers.ciPercent ?? [0, 0];
  const isChance = !isCalled(numbers) && low <= 0 && high >= 0 && base !== null && head !== null;
  return { ...about, base, head, ...(isChance ? { changePercent: (head / base - 1) * 100 } : {}) };
}

const EXPLAINED_CELLS = 24;

async function causesOf(
  db: StoreDatabase,
  cells: readonly JudgedCell[],
  { base, head }: Sides,
): Promise<ReadonlyMap<JudgedCell, FirstCause | null>> {
  const changed = cells.filter(({ comparison }) => isCalled(comparison)).slice(0, EXPLAINED_CELLS);
  if (changed.length === 0) return new Map();
  // Most comparisons have nothing to explain and start faster without this module.
  const { firstCauseOf } = await import('../why/index.ts');
  const [a, b] = [base, head].map(({ sweeps, ref }) => (cell: KeyedCell): WhyPoint => {
    return { cell, sweepIds: sweeps.map(({ sweepId }) => sweepId), runId: null, name: ref };
  });
  return new Map(
    changed.map((entry) => [entry, a && b ? firstCauseOf(db, a(entry.cell), b(entry.cell), entry.metric) : null]),
  );
}

function pastOf(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  { base, head }: Sides,
  metric: MetricId | null,
  kinds: ReadonlyMap<string, ValueKind>,
): CellSweeps[] {
  const compared = new Set([...base.sweeps, ...head.sweeps].map(({ sweepId }) => sweepId));
  const oldest = base.sweeps.at(-1);
  // Both sides were measured in turns, so that sweep-to-sweep noise affects both equally.
  if (oldest?.branch === COMPARE_BRANCH) return [];
  const before = oldest === undefined ? [] : seriesUntil(db, oldest, PAST_WINDOW_SWEEPS + 1);
  const sweeps = before.filter(({ sweepId }) => !compared.has(sweepId)).toReversed();
  return sweeps.length < LEAST_PAST_SWEEPS ? [] : cellHistories(db, sweeps, cells, metric, 'newest', kinds);
}

function sharedNoiseOf(past: ReadonlyMap<string, CellSweeps>, { base, head }: Sides): Noise {
  const isInTurns = base.sweeps.some(({ branch }) => branch === COMPARE_BRANCH);
  const isOneSweep = base.sweeps[0]?.sweepId === head.sweeps[0]?.sweepId;
  if (isInTurns || isOneSweep) return NO_SHARED_NOISE;
  return sharedNoise([...past.values()].map(({ history }) => valuesByPlace(history)));
}

type Mean = Comparison['geometricMeans'][number];

/** Geometric means for each metric: over all cells, and over each model and precision if there are several. */
export function geometricMeans(
  cells: readonly JudgedCell[],
  ratios: ReadonlyMap<string, CellRatio>,
  shared: Noise,
): Mean[] {
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

function comparedSide(db: StoreDatabase, side: Side, cells: readonly KeyedCell[]) {
  const sweepIds = side.sweeps.map(({ sweepId }) => sweepId);
  const keys = cells.map(({ key }) => key);
  return {
    runs: cellRunsOf(db, sweepIds, keys),
    planned: plannedCells(db, sweepIds),
    provenances: provenancesOf(side),
  };
}

function unique<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}
