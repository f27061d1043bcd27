import { cellsWithoutEngine, failedBuilds, sweepFailures } from '../../engines/engine-state.ts';
import { FLAG_OF_BOUND } from '../../judge/bound.ts';
import { type Switch, summarizeCells, switchGains } from '../../judge/summarize-cells.ts';
import { batchOf, cellLabel } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import { buildRefsOf, type Plan } from '../../records/plan.ts';
import type { CellRun } from '../../records/run.ts';
import { FLAG_LABELS, isIneligible } from '../../records/outcome.ts';
import type { Sweep } from '../../records/sweep.ts';
import { realPrecisions, tunedBatches } from '../../selection/engines-of-cells.ts';
import { disturbedCells } from '../../judge/run-trust.ts';
import { runIdOf } from '../../run/measure-run.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findOutcome } from '../../store/runs/runs.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { NO_SWEEP_NUMBERS, sweepNotes, sweepNumbers, withReused } from '../../store/sweeps/overview.ts';
import { captionLines, cellTable } from '../../terminal/cell-columns.ts';
import { failureSection } from '../../terminal/failure-section.ts';
import { type Look, dotted, wrapHanging } from '../../terminal/look.ts';
import {
  DERIVED_LEGEND,
  derivedText,
  isDerived,
  overlapNote,
  streamMs,
  formatNumber,
  formatPercent,
  formatShare,
  runsAndEngines,
  intervalText,
  count,
} from '../../terminal/numbers.ts';
import { numberColumn, textColumn } from '../../terminal/table.ts';
import { REASON_TEXT, adviceOf, boundLines, describeCommit, flagLines, provenanceText } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import { keysOf } from '../../text/unknown-values.ts';
import type { ShownSweep } from './output.ts';
import { remediesIn } from './remedies.ts';
import { LEAST_PRECISION_SHARE } from '../../layers/real-precision.ts';

/**
 * The sweep in the form of `bench run` and `bench show SWEEP`, and what its text needs in addition.
 * @param plan null for a sweep without one, such as an import
 * @param counted counts of `bench run`; by default from the store
 */
export function sweepReport(
  db: StoreDatabase,
  sweep: Sweep,
  plan: Plan | null,
  { precisionShare = LEAST_PRECISION_SHARE }: { readonly precisionShare?: number | undefined },
  counted?: ShownSweep['counts'],
) {
  const { sweepId } = sweep;
  const runs = cellRunsOf(db, [sweepId]);
  const keys = new Set([...(plan?.cells.map(({ cell }) => cell.key) ?? []), ...runs.map(({ cellKey }) => cellKey)]);
  const known = findCells(db, [...keys]);
  const cells = [...keys].flatMap((key) => known.get(key) ?? []);
  const failures = sweepFailures(db, sweepId, plan);
  const remedied = remediesIn(db, sweepId, runs);
  const summaries = summarizeCells(
    cells,
    runs,
    plan === null ? new Map() : cellsWithoutEngine(db, sweep, plan),
    realPrecisions(db, cells, runs, [sweepId]),
    precisionShare,
    findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]),
    tunedBatches(db, cells, runs),
  ).map((row) => ({ key: row.cell.key, label: cellLabel(row.cell), ...row, bound: remedied(row.cell, row.bound) }));
  const gainsOf = (by: Switch) => {
    const { medianPercent, pairs = [] } = switchGains(summaries, by) ?? {};
    const own = pairs.map(({ without, with: on, ...gain }) => ({ withoutKey: without.key, withKey: on.key, ...gain }));
    return medianPercent === undefined ? null : { medianPercent, pairs: own };
  };
  const output: ShownSweep = {
    schemaVersion: 1,
    ...sweep,
    importNotes: sweepNotes(db, [sweepId]),
    counts: counted ?? countsOf(db, sweep, plan, runs, failures),
    graphGains: gainsOf('cudaGraph'),
    transferCosts: gainsOf('dataTransfers'),
    neighborCosts: gainsOf('neighbor'),
    runtimeCosts: gainsOf('runtime'),
    failures,
    cells: summaries.map(({ cell: _cell, runsQps: _runsQps, ...row }) => row),
  };
  const numbers = sweepNumbers(db, [sweepId]).get(sweepId) ?? NO_SWEEP_NUMBERS;
  return { runs, summaries, output, numbers };
}

function countsOf(
  db: StoreDatabase,
  sweep: Sweep,
  plan: Plan | null,
  runs: readonly CellRun[],
  failures: ShownSweep['failures'],
): ShownSweep['counts'] {
  // Builds are not runs of any cell.
  const kinds = [...runs.map(({ outcome }) => outcome), ...failures.filter(({ role }) => role === 'build')];
  const times = (wanted: string): number => kinds.filter(({ kind }) => kind === wanted).length;
  const disturbed = plan === null ? [] : disturbedCells(runs, plan.repeats);
  const skipped = plan === null ? 0 : skippedRuns(db, sweep, plan);
  const replaced = disturbed.reduce((sum, cell) => sum + cell.replaced, 0);
  const [measured, unfit, failed] = [times('measured'), times('unfit'), times('failed')];
  return { measured, unfit, failed, skipped, kept: 0, replaced };
}

/** Planned runs whose engine could not be built. */
function skippedRuns(db: StoreDatabase, sweep: Sweep, plan: Plan): number {
  const failed = failedBuilds(db, sweep, plan.builds);
  const waiting = plan.runs.filter((run) => buildRefsOf(run).some((ref) => failed.has(ref)));
  return waiting.filter((run) => findOutcome(db, runIdOf(sweep.sweepId, run)) === null).length;
}

type SweepReport = ReturnType<typeof sweepReport>;

export type CellRow = SweepReport['summaries'][number];

/** @param rows of the cells: a table or a map */
export function sweepText(
  { numbers, output: shown, summaries: cells }: Pick<SweepReport, 'numbers' | 'output' | 'summaries'>,
  look: Look,
  rows = tableOf(cells, look),
): string[] {
  const { counts, failures, matrix, name } = shown;
  const { style } = look;
  const again = counts.replaced === 0 ? '' : `, ${counts.replaced} of them measured again`;
  const parts = [
    runsAndEngines({ ...withReused(numbers), runs: numbers.runs - counts.replaced + counts.skipped }),
    ...(counts.kept > 0 ? [`${counts.kept} kept from before`] : []),
    ...(counts.unfit > 0 ? [style.warn(`${counts.unfit} unfit${again}`)] : []),
    ...(counts.failed > 0 ? [style.bad(`${counts.failed} failed`)] : []),
    ...(counts.skipped > 0 ? [style.warn(`${counts.skipped} skipped`)] : []),
  ];
  const title = printable(matrix ?? name ?? '');
  const about = dotted([`sweep ${shown.sweepId.slice(0, 8)}`, title, provenanceText(shown), describeCommit(shown)]);
  return [
    style.strong(parts.join(', ')),
    ...[about, ...shown.importNotes].flatMap((line) => wrapHanging(line, look.columns, 2).map(style.dim)),
    '',
    ...rows,
    ...boundSection(cells, look),
    ...flagSection(cells, look),
    ...failureSection(failures, look),
    ...keysOf(SWITCH_WORDS).flatMap((by) => switchGainLines(cells, by, look)),
  ];
}

/** Rank of a column that a narrow table drops before any number. */
const FLAGS_RANK = 6;

/** One row per cell. A cell of another harness has the metric of its harness in place of GPU time and latency. */
function tableOf(cells: readonly CellRow[], look: Look): string[] {
  const { style } = look;
  const isDriven = ({ cell }: CellRow): boolean => cell.harness !== undefined;
  const own = cells.filter((row) => !isDriven(row));
  const hasBatches = own.some(({ itemsPerS, throughputQps }) => itemsPerS !== throughputQps);
  const isTunedElsewhere = own.some((row) => !['', '1'].includes(optText(row)));
  const isInDoubt = own.some(({ precisionShare }) => precisionShare?.isReal === false);
  // Lines below the table explain every bottleneck except the GPU.
  const isExplained = own.some(({ bound }) => bound !== null && bound.by !== 'compute');
  const dash = (row: CellRow, text: string | null): string => (isDriven(row) ? '' : (text ?? '–'));
  const time = (row: CellRow, ms: number | null): string => dash(row, streamMs(ms, row.cell.streams));
  const boundRank = isExplained ? 2.5 : 7;
  const boundStyle = ({ bound }: CellRow) =>
    bound === null || bound.by === 'compute' ? style.dim : (text: string) => text;
  const flagStyle = ({ flags }: CellRow) =>
    isIneligible(flags) ? style.bad : flags.some(({ effect }) => effect !== 'explained') ? style.warn : style.dim;
  const othersStyle = ({ others, noEngine }: CellRow) =>
    noEngine !== null || others.some(({ kind }) => kind === 'failed') ? style.bad : style.warn;
  const table = cellTable<CellRow>(
    cells,
    [
      textColumn('metric', (row) => (isDriven(row) ? metricOf(row.metric).label : ''), 0, { minWidth: 8 }),
      numberColumn('median', (row) =>
        isDriven(row) ? (row.value === null ? '–' : `${formatNumber(row.value)} ${metricOf(row.metric).unit}`) : '',
      ),
      textColumn('actual precision', shareText, isInDoubt ? 0 : FLAGS_RANK, {
        short: 'actual',
        style: ({ precisionShare }) => (precisionShare?.isReal === false ? style.bad : style.dim),
      }),
      numberColumn('GPU time', (row) => time(row, row.gpuComputeMs)),
      numberColumn('spread', ({ spreadPercent: of }) => (of === null ? '' : formatPercent(of, false)), 2),
      numberColumn('qps', (row) => dash(row, row.throughputQps === null ? null : formatNumber(row.throughputQps)), 1),
      numberColumn('items/s', (row) => itemsText(row, isDriven(row), hasBatches), 5),
      numberColumn('opt×', (row) => (isTunedElsewhere ? optText(row) : ''), 5.5),
      textColumn('bound by', (row) => dash(row, row.bound?.by ?? null), boundRank, { style: boundStyle }),
      numberColumn('latency p99', (row) => time(row, row.p99Ms), 3),
      numberColumn('runs', ({ measured }) => String(measured), 4),
      textColumn('flags', flagsText, FLAGS_RANK, { style: flagStyle, minWidth: 10 }),
      textColumn('', othersText, 0, { style: othersStyle, minWidth: 10 }),
    ],
    look,
  );
  const isMarked = cells.some((row) => isDriven(row) && row.itemsPerS !== null && isDerived(row));
  const opts = [...new Set(own.flatMap(({ tunedBatch }) => tunedBatch ?? []))].join(', ');
  return [
    ...table,
    ...(isTunedElsewhere && !table[0]?.includes('opt×') ? [style.dim(`opt batch of the engines: ${opts}`)] : []),
    ...(isMarked ? wrapHanging(DERIVED_LEGEND, look.columns, 2).map(style.dim) : []),
    ...captionLines(overlapNote(own.map(({ cell }) => cell.streams)), look),
  ];
}

function itemsText(row: CellRow, isDriven: boolean, hasBatches: boolean): string {
  if (isDriven) return row.itemsPerS === null ? '' : derivedText(row, row.itemsPerS);
  return !hasBatches ? '' : row.itemsPerS === null ? '–' : formatNumber(row.itemsPerS);
}

/** Ratio of its batch to the batch that its engine is tuned for. */
function optText({ cell, tunedBatch }: CellRow): string {
  const batch = batchOf(cell.shapes);
  return batch === null || tunedBatch === null ? '' : formatNumber(batch / tunedBatch, 2);
}

function othersText({ others, noEngine }: CellRow): string {
  return [
    ...(noEngine === null ? [] : [`no engine: ${REASON_TEXT[noEngine]}`]),
    ...others.map(
      ({ role, kind, reason, times }) =>
        `${times}× ${role === 'timed' ? '' : `${role} `}${kind}: ${reason === null ? kind : REASON_TEXT[reason]}`,
    ),
  ].join('; ');
}

/** Flags of runs that count. The next column says what made a run unfit. */
function flagsText({ flags, measured }: CellRow): string {
  return flags
    .filter(({ effect }) => effect !== 'excluded')
    .toSorted((a, b) => Number(b.effect === 'barred') - Number(a.effect === 'barred'))
    .map(({ id, times }) => (times === measured ? FLAG_LABELS[id] : `${times}× ${FLAG_LABELS[id]}`))
    .join(', ');
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/** The actual precision of quantized cells, and wherever it is in doubt. */
function shareText({ precisionShare: share }: CellRow): string {
  if (share === null || (share.isReal && !QUANTIZED.includes(share.asked))) return '';
  const { asked, timeShare, layerShare, isReal } = share;
  const size = `${formatShare(timeShare ?? layerShare)} of ${timeShare === null ? 'layers' : 'time'}`;
  return isReal ? `${asked} ${size}` : `✗ not ${asked}: ${size}`;
}

/** For each bottleneck other than the GPU that no flag covers: one cell, with evidence and advice. */
function boundSection(cells: readonly CellRow[], look: Look): string[] {
  const unflagged = cells.flatMap(({ bound, flags, label }) =>
    bound === null || bound.by === 'compute' || flags.some(({ id }) => id === FLAG_OF_BOUND[bound.by])
      ? []
      : [{ ...bound, advice: `${label}: ${bound.advice}`, key: `${bound.by} ${bound.advice}` }],
  );
  return onePerKind(unflagged, ({ key }) => key).flatMap(({ first: bound, same: { length } }) =>
    boundLines(bound, [], look, length === 1 ? '' : ` (${length} cells; this is one of them)`),
  );
}

/** One flag of each kind, with evidence and advice. */
function flagSection(cells: readonly CellRow[], look: Look): string[] {
  const all = cells.flatMap(({ bound, flags, label, measured }) =>
    // What explains a time says nothing where no run counts.
    flags
      .filter(({ effect }) => measured > 0 || effect !== 'explained')
      .map((flag) => ({ ...flag, label, advice: adviceOf(flag, bound) })),
  );
  return onePerKind(all, ({ advice, effect, id }) => `${id} ${effect} ${advice[0]}`).flatMap(({ first, same }) => {
    const runs = same.reduce((sum, { times }) => sum + times, 0);
    const [advice = '', ...remedies] = first.advice;
    const times = runs === 1 ? '' : ` (${runs} runs; this is one of them)`;
    return flagLines(first, look, [`${first.label}: ${advice}`, ...remedies], times);
  });
}

function onePerKind<Item>(items: readonly Item[], kindOf: (item: Item) => string) {
  return [...Map.groupBy(items, kindOf).values()].flatMap((same) => same.slice(0, 1).map((first) => ({ first, same })));
}

const SWITCH_WORDS = {
  cudaGraph: 'a CUDA graph gains',
  dataTransfers: 'transfers:',
  neighbor: 'a neighbor on the GPU:',
  runtime: 'a lean or dispatch runtime:',
} as const satisfies Readonly<Record<Switch, string>>;

/** Lines about the gain of CUDA graphs or the cost of transfers, for cells measured both ways. */
function switchGainLines(cells: readonly CellRow[], by: Switch, { columns, style }: Look): string[] {
  const isCounted = ({ throughputFrom }: CellRow): boolean => throughputFrom === 'counted';
  const gains = switchGains(cells.filter(isCounted), by);
  const [most] = gains?.pairs ?? [];
  if (gains === null || most === undefined) return [];
  const isCost = by !== 'cudaGraph';
  const middle = `${formatPercent(gains.medianPercent)} queries/s in the middle of ${count(gains.pairs.length, 'pair')}`;
  const typical = gains.pairs.length > 1 ? `${middle}, ${isCost ? 'worst' : 'most'} ` : '';
  const pairText = ({ ciPercent, gainPercent, latencyChangePercent, verdict, with: { cell } }: typeof most): string => {
    const sure = ciPercent === null ? verdict : `${intervalText(ciPercent)}, 95 %: ${verdict}`;
    const latency =
      isCost && latencyChangePercent !== null ? ` and ${formatPercent(latencyChangePercent)} latency` : '';
    return `${formatPercent(gainPercent)} queries/s (${sure})${latency}: ${printable(cellLabel(cell))}`;
  };
  const last = isCost ? most : gains.pairs.at(-1);
  const worst = last !== undefined && last !== most && last.verdict === 'slower' ? `; worst ${pairText(last)}` : '';
  const text = `  ${SWITCH_WORDS[by]} ${typical}${pairText(most)}${worst}`;
  return wrapHanging(text, columns, 4).map(style.dim);
}
