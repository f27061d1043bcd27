import { cellKeysOf } from '../../store/runs/runs.ts';
import { gateRules } from '../../judge/gate/limits.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { count } from '../../terminal/numbers.ts';
import { UsageError } from '../../errors.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { ReportOptions } from './command.ts';
import { shiftText, compareReport } from '../compare/index.ts';
import { type CellJudgement, type ReportedGate, type ReportedSweep, uniqueNames } from '../export/index.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findCells, plannedCells } from '../../store/cells.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { gateOf } from '../../store/sweeps/gate-of-sweep.ts';
import { seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import type { Io } from '../../cli/io.ts';
import {
  changeText,
  type CheckedSweep,
  checkedSweep,
  gateAnswer,
  sizeText,
  groupText,
  isPresent,
  latestSweep,
  type Standing,
} from '../check/index.ts';
import { NotMeasuredError, resolveSide, resolveSides, type Side } from '../../selection/sides.ts';

export type GatherOptions = Pick<ReportOptions, 'metric' | 'filter' | 'branch' | 'night' | 'asOf'>;

/** Judgments of each cell by key, and of the whole. */
type Judgements = Pick<ReportedSweep, 'gate' | 'shift' | 'geometricMean' | 'notes'> & {
  /** Of the gate, where it was asked. */
  readonly standing: Standing | null;
  readonly cells: ReadonlyMap<string, CellJudgement>;
  readonly head: Side;
  readonly base: Side | null;
};

const RECENT_SWEEPS = 20;

/** The data of report files: runs of a side, judgments, and earlier sweeps. @param known what the gate says of a sweep, by the same options */
export async function gatherReport(
  db: StoreDatabase,
  base: string | undefined,
  head: string | undefined,
  options: GatherOptions,
  io: Io,
  known: CheckedSweep | null = null,
): Promise<{ readonly gathered: ReportedSweep; readonly standing: Standing | null }> {
  const judged =
    options.night === true ? await byGate(db, options, io, known) : await bySides(db, base, head, options, io, known);
  const [newest, ...others] = judged.head.sweeps;
  if (newest === undefined) throw new UsageError('there is no sweep to report');
  const sweepIds = judged.head.sweeps.map(({ sweepId }) => sweepId);
  const keys = new Set([...judged.cells.keys(), ...plannedCells(db, sweepIds), ...cellKeysOf(db, sweepIds)]);
  const cells = inLabelOrder(chooseCells(db, [...findCells(db, [...keys]).values()], options.filter));
  const kept = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, sweepIds, kept).filter(({ role }) => role === 'timed');
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const names = uniqueNames(cells);
  const metric = metricNamed(db, options.metric);
  const { ownerOf } = gateRules(gateOf(db, newest.sweepId));
  const recent = recentValues(db, newest, cells, metric);
  const gathered: ReportedSweep = {
    sweeps: [newest, ...others],
    ref: judged.head.ref,
    baseRef: judged.base?.ref ?? null,
    baseSweep: judged.base?.sweeps[0] ?? null,
    shift: judged.shift,
    geometricMean: judged.geometricMean,
    notes: judged.notes,
    gate: judged.gate,
    cells: cells.map((cell) => ({
      cell,
      name: names.get(cell.key) ?? cell.key,
      metric: gateMetric(metric, cell),
      owner: ownerOf([cell.key]),
      runs: byCell.get(cell.key) ?? [],
      judgement: judged.cells.get(cell.key) ?? { kind: 'values' },
      recent: recent.get(cell.key) ?? [],
    })),
    environments: findEnvironments(db, [...new Set(runs.map((run) => run.environmentId))]),
  };
  return { gathered, standing: judged.standing };
}

/** Against the base; without one, and with a single sweep, only values. */
async function bySides(
  db: StoreDatabase,
  base: string | undefined,
  head: string | undefined,
  options: GatherOptions,
  io: Io,
  known: CheckedSweep | null,
): Promise<Judgements> {
  const sides = await sidesOrHead(db, base, head, options, io);
  if (sides.base === null) {
    const notes = sides.head.note === null ? [] : [sides.head.note];
    return {
      ...(await gateSays(db, sides.head, base, options, io, known)),
      cells: new Map(),
      head: sides.head,
      base: null,
      shift: null,
      geometricMean: null,
      notes,
    };
  }
  const { output, isShiftReported } = await compareReport(db, sides, options);
  const { across, cells, geometricMeans, shift } = output;
  const [mean = null, ...otherMetrics] = geometricMeans.filter(({ by }) => by === 'all');
  const notes = [sides.base.note, sides.head.note, ...across];
  if (shift !== null) {
    notes.push(shiftText(shift));
  }
  return {
    ...(await gateSays(db, sides.head, base, options, io, known)),
    base: sides.base,
    head: sides.head,
    shift: shift?.verdict === 'slower' && !isShiftReported ? null : shift,
    geometricMean: otherMetrics.length === 0 ? mean : null,
    notes: notes.filter((note) => note !== null),
    cells: new Map(cells.map((cell) => [cell.key, { kind: 'compared', ...cell }])),
  };
}

type Sides = { readonly base: Side; readonly head: Side };

/** HEAD alone where nothing can be compared: the first sweep of a series. */
async function sidesOrHead(
  db: StoreDatabase,
  base: string | undefined,
  head: string | undefined,
  { branch }: GatherOptions,
  io: Io,
): Promise<Sides | { readonly base: null; readonly head: Side }> {
  if (base === undefined) {
    const latest = await resolveSide(db, 'latest', io, { branch });
    const [sweep] = latest.sweeps;
    const isFirst = sweep !== undefined && seriesUntil(db, sweep, 2).length < 2;
    if (isFirst) return { base: null, head: latest };
  }
  try {
    return await resolveSides(db, base, head, io, { branch });
  } catch (error) {
    if (!(error instanceof NotMeasuredError) || head === undefined) throw error;
    const only = await resolveSide(db, head, io, { branch });
    return { base: null, head: { ...only, note: `compared with nothing: ${error.message}` } };
  }
}

async function byGate(
  db: StoreDatabase,
  options: GatherOptions,
  io: Io,
  known: CheckedSweep | null,
): Promise<Judgements> {
  const { asOf } = options;
  const { note, sweep } = await latestSweep(db, options, io);
  const { findings, series, standing } = isOf(known, sweep)
    ? known
    : await checkedSweep(db, sweep, io, { onlyThis: asOf !== undefined });
  const cells = series.cells.map((cell): [string, CellJudgement] => {
    const own = findings.filter((finding) => finding.cells.includes(cell.key));
    const reported = own.find((finding) => finding.isNew && isPresent(finding) && !finding.isWarning);
    const change = reported?.details.find(({ key }) => key === cell.key);
    const earlier = own.filter((finding) => finding !== reported && isPresent(finding));
    const reasons = earlier.map((finding) => {
      const before = finding.details.find(({ key }) => key === cell.key);
      return `reported before: ${before === undefined ? finding.state : changeText(before)}`;
    });
    const status = cell.status === 'failed' || cell.status === 'missing' ? cell.status : 'quiet';
    return [
      cell.key,
      {
        kind: 'history',
        verdict: reported?.direction ?? status,
        base: change?.before ?? null,
        head: change?.after ?? null,
        changePercent: change?.changePercent ?? null,
        metric: change?.metric ?? null,
        findingId: reported?.id ?? null,
        reasons: [...cell.reasons, ...reasons],
      },
    ];
  });
  return {
    cells: new Map(cells),
    head: { ref: asOf ?? 'latest', sweeps: [sweep], note: null },
    base: null,
    shift: null,
    geometricMean: series.geometricMean,
    gate: null,
    standing,
    notes: [note, series.headline, ...series.notes].filter((text) => text !== null),
  };
}

/** Without sides the report is about the newest sweep, which the gate judges. */
async function gateSays(
  db: StoreDatabase,
  { sweeps: [newest] }: Side,
  base: string | undefined,
  { filter, metric }: GatherOptions,
  io: Io,
  known: CheckedSweep | null,
): Promise<Pick<Judgements, 'gate' | 'standing'>> {
  const isChosen = [base, filter, metric].some((stated) => stated !== undefined);
  if (isChosen || newest === undefined) return { gate: null, standing: null };
  const { headline, standing } = isOf(known, newest)
    ? { headline: known.series.headline, standing: known.standing }
    : await gateAnswer(db, newest, io);
  return { gate: { headline, findings: findingLines(standing) }, standing };
}

function isOf(known: CheckedSweep | null, { sweepId }: Sweep): known is CheckedSweep {
  return known?.series.sweepId === sweepId;
}

function findingLines({ limits, regressions }: Standing): ReportedGate['findings'] {
  return [...regressions, ...limits].map((finding) => {
    const { group, id, labels } = finding;
    const which = group.length > 0 ? groupText(group) : labels.slice(0, 3).join(', ');
    return { id, text: `${count(labels.length, 'cell')} ${sizeText([finding]).join('')} (${which})` };
  });
}

/** Of the last sweeps, oldest first. */
function recentValues(
  db: StoreDatabase,
  newest: Sweep,
  cells: readonly KeyedCell[],
  metric: MetricId | null,
): Map<string, readonly number[]> {
  const sweeps = seriesUntil(db, newest, RECENT_SWEEPS).toReversed();
  return new Map(cellHistories(db, sweeps, cells, metric).map(({ cell, history }) => [cell.key, [...history.values]]));
}
