import { compareTexts } from '../../../text/compare-texts.ts';
import { cellsWithoutEngine } from '../../../engines/engine-state.ts';
import { accuracyDrop, sameAccuracyHistory } from '../../../judge/accuracy-drop.ts';
import { environmentDifferences } from '../../../judge/compare/differences.ts';
import { type AccuracyRecord, MAX_DROP_DB } from '../../../records/accuracy.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import type { Environment } from '../../../records/environment.ts';
import type { OwnMetricId } from '../../../records/metric.ts';
import { failureSentences, type Outcome } from '../../../records/outcome.ts';
import { type CellRun, isMeasured } from '../../../records/run.ts';
import type { BuildId } from '../../../records/scalars.ts';
import { readStoredPlan } from '../../../run/stored-plan.ts';
import type { Side } from '../../../selection/sides.ts';
import { median } from '../../../statistics/median.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import { recordsByCell } from '../../../store/runs/accuracies.ts';
import { layerCounts } from '../../../selection/rebuilt-engines.ts';
import { findEnvironments, sweepEnvironments } from '../../../store/sweeps/environments.ts';
import { planOf } from '../../../store/sweeps/sweeps.ts';
import { type ComparedCell, compareReport, readSides } from '../../compare/index.ts';
import type { ReportOptions } from '../command.ts';
import { againstMoving, headlineOf, notKnown } from './headline.ts';
import type { Pair, UpgradeCell, UpgradeGroup, UpgradeOutput } from './output.ts';
import { talliesOf } from './tallies.ts';

export type UpgradeOptions = Pick<ReportOptions, 'metric' | 'filter'>;

interface Upgrade {
  readonly output: UpgradeOutput;
  readonly isSlower: boolean;
  /** By their keys. */
  readonly cells: ReadonlyMap<string, KeyedCell>;
}

/**
 * Two installs over one matrix, judged as `bench compare` judges them, with what else decides about a move: builds that
 * fail, accuracy, layers and sizes.
 */
export async function upgradeReport(
  db: StoreDatabase,
  sides: { readonly base: Side; readonly head: Side },
  options: UpgradeOptions,
): Promise<Upgrade> {
  const read = readSides(db, sides, options.filter);
  const asked = { ...options, acrossTensorrt: true as const };
  const { details, isShiftReported, output: compared } = await compareReport(db, sides, asked, true, read);
  const [base, head] = [factsOf(db, sides.base, read.base.runs), factsOf(db, sides.head, read.head.runs)];
  const known = new Map(read.chosen.map((cell) => [cell.key, cell]));
  const changedLayers = layerCounts(db);
  const cells = compared.cells
    .flatMap((cell): UpgradeCell[] => {
      const about = known.get(cell.key);
      return about === undefined ? [] : [upgradeCell(cell, about, base, head, changedLayers)];
    })
    .toSorted((a, b) => weightOf(b) - weightOf(a));
  const { across, baseRef, geometricMeans, headRef, provenance, shift } = compared;
  const counts = talliesOf(cells);
  const groups = groupsOf(cells, details.meanOf);
  return {
    output: {
      schemaVersion: 1,
      headline: headlineOf(counts, geometricMeans, base.environment, head.environment, compared),
      against: againstMoving(counts, shift),
      unknown: notKnown(counts),
      changed: [
        ...(base.environment === null || head.environment === null
          ? []
          : environmentDifferences(base.environment, head.environment)),
        ...commitsOf(compared),
      ],
      baseRef,
      headRef,
      base: compared.base,
      head: compared.head,
      provenance,
      across,
      shift,
      counts,
      geometricMeans,
      groups,
      cells,
    },
    isSlower:
      isShiftReported ||
      cells.some(({ belowMinChange, verdict }) => verdict === 'slower' && belowMinChange === undefined),
    cells: known,
  };
}

/** Of the repository: another thing that may be why something changed. */
function commitsOf({ base, head }: Pick<UpgradeOutput, 'base' | 'head'>): string[] {
  if (base.commit === null || head.commit === null || base.commit === head.commit) return [];
  return [`commit ${base.commit.slice(0, 8)} → ${head.commit.slice(0, 8)}`];
}

interface SideFacts {
  /** Of its newest run; where nothing could be built, that of the builds. */
  readonly environment: Environment | null;
  readonly runs: ReadonlyMap<string, readonly CellRun[]>;
  /** Why no engine of a cell could be built, by its key. */
  readonly unbuilt: ReadonlyMap<string, Outcome>;
  readonly accuracies: ReadonlyMap<string, readonly AccuracyRecord[]>;
}

function factsOf(db: StoreDatabase, { sweeps }: Side, runs: readonly CellRun[]): SideFacts {
  const newest = runs.at(-1);
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const unbuilt = sweeps.flatMap((sweep) => {
    const plan = readStoredPlan(planOf(db, sweep.sweepId))?.plan;
    return plan === undefined ? [] : [...cellsWithoutEngine(db, sweep, plan)];
  });
  return {
    environment:
      newest === undefined
        ? (ids.flatMap(sweepEnvironments(db))[0] ?? null)
        : (findEnvironments(db, [newest.environmentId]).get(newest.environmentId) ?? null),
    runs: Map.groupBy(
      runs.filter(({ role }) => role === 'timed'),
      ({ cellKey }) => cellKey,
    ),
    unbuilt: new Map(unbuilt),
    accuracies: recordsByCell(db, ids),
  };
}

function upgradeCell(
  cell: ComparedCell,
  { model, precision }: KeyedCell,
  base: SideFacts,
  head: SideFacts,
  changedLayers: ReturnType<typeof layerCounts>,
): UpgradeCell {
  const [a, b] = [base.runs.get(cell.key) ?? [], head.runs.get(cell.key) ?? []];
  const sizes = (metric: OwnMetricId): Pair => [sizeOf(a, metric), sizeOf(b, metric)];
  return {
    ...cell,
    model,
    precision,
    problem: cell.verdict === 'failed' ? problemOf(cell, base, head) : null,
    accuracy: movedAccuracy(base.accuracies.get(cell.key) ?? [], head.accuracies.get(cell.key) ?? []),
    layers: changedLayers(buildOf(a), buildOf(b)),
    engineMib: sizes('engineMib'),
    contextMib: sizes('contextMib'),
    memoryMib: sizes('memoryMib'),
  };
}

function sizeOf(runs: readonly CellRun[], metric: OwnMetricId): number | null {
  return median(runs.filter(isMeasured).flatMap(({ values }) => values[metric] ?? []));
}

function buildOf(runs: readonly CellRun[]): BuildId | null {
  return runs.findLast(isMeasured)?.buildId ?? null;
}

function problemOf({ key, runs: [ofBase, ofHead] }: ComparedCell, base: SideFacts, head: SideFacts) {
  const side = ofBase > 0 ? 'head' : ofHead > 0 ? 'base' : 'both';
  const worse = side === 'base' ? base : head;
  const unbuilt = worse.unbuilt.get(key);
  const outcomes = unbuilt === undefined ? (worse.runs.get(key) ?? []).map(({ outcome }) => outcome) : [unbuilt];
  const [reason = ''] = failureSentences(outcomes);
  const kind = unbuilt !== undefined ? 'build' : reason === '' ? 'notMeasured' : 'run';
  return { side, kind, reason } as const;
}

/** The newest of both sides that are comparable: of the same precision on the same inputs. */
function movedAccuracy(before: readonly AccuracyRecord[], after: readonly AccuracyRecord[]): UpgradeCell['accuracy'] {
  for (const now of after) {
    const was = before.find((record) => sameAccuracyHistory(record, now));
    const drop = accuracyDrop(now, was ?? null, MAX_DROP_DB);
    if (drop === null) continue;
    const moved = drop.isRegression ? 'worse' : drop.dropDb < -MAX_DROP_DB ? 'better' : null;
    return { sqnrDb: [drop.before.accuracy.sqnrDb, now.accuracy.sqnrDb], moved };
  }
  return null;
}

function groupsOf(
  cells: readonly UpgradeCell[],
  meanOf: (keys: readonly string[]) => UpgradeGroup['geometricMean'],
): UpgradeGroup[] {
  const groups = Map.groupBy(cells, ({ metric, model, precision }) => JSON.stringify([model, precision, metric]));
  return [...groups.values()]
    .flatMap((own): UpgradeGroup[] => {
      const [first] = own;
      if (first === undefined) return [];
      const { metric, model, precision } = first;
      const largest = (size: 'engineMib' | 'contextMib' | 'memoryMib'): Pair => {
        const both = own.map((cell) => cell[size]).filter(([base, head]) => base !== null && head !== null);
        const most = (side: 0 | 1): number | null =>
          both.length === 0 ? null : Math.max(...both.map((pair) => pair[side] ?? 0));
        return [most(0), most(1)];
      };
      return [
        {
          model,
          precision,
          metric,
          ...talliesOf(own),
          geometricMean: meanOf(own.map(({ key }) => key)),
          engineMib: largest('engineMib'),
          contextMib: largest('contextMib'),
          memoryMib: largest('memoryMib'),
        },
      ];
    })
    .toSorted((a, b) => compareTexts(a.model, b.model) || compareTexts(a.precision, b.precision));
}

const ORDER: readonly UpgradeCell['verdict'][] = ['faster', 'same', 'incomparable', 'unclear', 'missing', 'failed'];

/** What does not work, then what is less accurate, then what is slower, the largest change first. */
function weightOf({ accuracy, changePercent, problem, verdict }: UpgradeCell): number {
  if (problem !== null && problem.side !== 'base') return problem.kind === 'build' ? 5e6 : 4e6;
  if (accuracy?.moved === 'worse') return 3e6;
  if (verdict === 'slower') return 2e6 + Math.abs(changePercent ?? 0);
  return accuracy?.moved === 'better' ? 1e6 : ORDER.indexOf(verdict);
}
