import type { PrecisionShare } from '../../layers/precision-share.ts';
import { graphGains } from '../../judge/graph-pairs.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { outcomeReason, type Outcome } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import { FLAG_LABELS, isBarred, type RunFlag } from '../../records/run-flag.ts';
import type { SweepCounts } from '../../run/sweep-event.ts';
import type { Sweep } from '../../records/sweep.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { derivedText, DERIVED_LEGEND, isDerived } from '../../terminal/derived-throughput.ts';
import { failureSection, failuresJson, type SweepFailure } from '../../terminal/failure-section.ts';
import { flagLines } from '../../terminal/flag-words.ts';
import { graphGainLines } from '../../terminal/graph-gain-text.ts';
import type { Look, Style } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { REASON_TEXT } from '../../terminal/outcome-text.ts';
import { overlapNote } from '../../terminal/statistics-table.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { type MappedCell, valueMap } from '../../terminal/charts/value-map.ts';

/** What the runs of one cell in one sweep amount to. */
export interface CellSummary {
  readonly cell: KeyedCell;
  readonly measured: number;
  /** What another harness is judged by; GPU compute time for trtexec. */
  readonly metric: MetricId;
  /** Median of that over the measured runs. */
  readonly value: number | null;
  /** Medians over the measured runs; null without any. */
  readonly gpuComputeMs: number | null;
  readonly latencyMs: number | null;
  readonly throughputQps: number | null;
  /** Of a harness that counts none it follows from the median latency of one query at a time. */
  readonly throughputFrom: 'counted' | 'medianLatency';
  /** Of each measured run whose throughput counts. */
  readonly runsQps: readonly number[];
  readonly itemsPerS: number | null;
  readonly p99Ms: number | null;
  /** Largest less smallest of `metric`, in percent of the smallest; null with fewer than two runs. */
  readonly spreadPercent: number | null;
  /** How much of the engine is in the precision of its name; null where that is not known, or says nothing. */
  readonly precisionShare: PrecisionShare | null;
  /** Why there was no engine to run; null when there was one. */
  readonly noEngine: Outcome | null;
  /** Why runs are missing: of each outcome that is none, how often. */
  readonly others: readonly { readonly role: string; readonly outcome: Outcome; readonly times: number }[];
  /** What is flagged on its runs, with the evidence of the first run that has it. */
  readonly flags: readonly CountedFlag[];
}

interface CountedFlag extends Pick<RunFlag, 'id' | 'effect' | 'evidence'> {
  readonly times: number;
}

export interface SweepReport {
  readonly sweep: Sweep;
  readonly counts: SweepCounts;
  readonly cells: readonly CellSummary[];
  /** Runs and builds that are no measurements. */
  readonly failures: readonly SweepFailure[];
}

export function sweepJson({ sweep, counts, cells, failures }: SweepReport) {
  return {
    schemaVersion: 1,
    ...sweep,
    counts,
    graphGains: graphGainsJson(cells),
    failures: failuresJson(failures),
    cells: cells.map(({ cell, others, noEngine, runsQps: _runs, ...numbers }) => ({
      key: cell.key,
      label: cellLabel(cell),
      ...numbers,
      noEngine: noEngine === null ? null : outcomeReason(noEngine),
      others: others.map(({ role, outcome, times }) => ({
        role,
        kind: outcome.kind,
        reason: outcomeReason(outcome),
        times,
      })),
    })),
  };
}

function graphGainsJson(cells: readonly CellSummary[]) {
  const gains = graphGains(cells);
  if (gains === null) return null;
  return {
    medianPercent: gains.medianPercent,
    pairs: gains.pairs.map(({ without, with: graph, ...numbers }) => ({
      withoutKey: without.cell.key,
      withKey: graph.cell.key,
      ...numbers,
    })),
  };
}

/** @param mapped what a map shows instead of a line for each cell */
export function sweepText(report: SweepReport, look: Look, mapped: readonly MappedCell[] | null = null): string[] {
  const { sweep, counts, cells, failures } = report;
  const { style } = look;
  const table = mapped === null ? cellTables(cells, look) : valueMap(mapped, look);
  table.push(...flagSection(cells, look), ...failureSection(failures, look));
  table.push(...graphGainLines(cells, look));
  const parts = [
    count(counts.measured, 'measured run'),
    counts.kept > 0 ? `${counts.kept} kept from before` : '',
    counts.unfit > 0 ? style.warn(unfitText(counts)) : '',
    counts.failed > 0 ? style.bad(failedText(report)) : '',
    counts.skipped > 0 ? style.warn(`${counts.skipped} skipped`) : '',
  ].filter((part) => part !== '');
  return [
    style.strong(parts.join(', ')),
    ...wrapHanging(describeSweep(sweep), look.columns, 2).map(style.dim),
    '',
    ...table,
  ];
}

/** trtexec's cells, then those of other harnesses, whose numbers are others. */
function cellTables(cells: readonly CellSummary[], look: Look): string[] {
  const driven = cells.filter(({ cell }) => cell.harness !== undefined);
  const own = cells.filter(({ cell }) => cell.harness === undefined);
  return [
    ...(own.length > 0 ? cellTable(own, look) : []),
    ...(own.length > 0 && driven.length > 0 ? [''] : []),
    ...(driven.length > 0 ? harnessTable(driven, look) : []),
  ];
}

function harnessTable(cells: readonly CellSummary[], look: Look): string[] {
  const { style } = look;
  const right = 'right' as const;
  const { columns, caption } = cellColumns(cells, ({ cell }) => cell);
  const table = renderTable<CellSummary>(
    [
      ...columns,
      { header: 'metric', text: ({ metric }) => metricOf(metric).label, minWidth: 8 },
      {
        header: 'median',
        text: ({ metric, value }) => (value === null ? '–' : `${formatNumber(value)} ${metricOf(metric).unit}`),
        align: right,
      },
      { header: 'spread', text: (row) => spreadText(row), align: right, dropRank: 1 },
      {
        header: 'items/s',
        text: (row) => (row.itemsPerS === null ? '' : derivedText(row, row.itemsPerS)),
        align: right,
        dropRank: 4,
      },
      { header: 'runs', text: ({ measured }) => String(measured), align: right, dropRank: 2 },
      ...remarkColumns(style),
    ],
    cells,
    look,
  );
  const isMarked = cells.some((row) => row.itemsPerS !== null && isDerived(row));
  const legend = isMarked ? wrapHanging(DERIVED_LEGEND, look.columns, 2).map(style.dim) : [];
  return [...table, ...captionLines(caption, look), ...legend];
}

/** Gone before any number. */
const FLAGS_RANK = 6;

function remarkColumns(style: Style): Column<CellSummary>[] {
  return [
    {
      header: 'flags',
      text: flagsText,
      style: ({ flags }) => (isBarred(flags) ? style.bad : flags.some(isDoubt) ? style.warn : style.dim),
      minWidth: 10,
      // Each flag stands below the table with its numbers; the numbers of the cells stand nowhere else.
      dropRank: FLAGS_RANK,
    },
    { header: '', text: othersText, style: (row) => othersStyle(row, style), minWidth: 10 },
  ];
}

function cellTable(cells: readonly CellSummary[], look: Look): string[] {
  const { style } = look;
  const right = 'right' as const;
  const { columns, caption } = cellColumns(cells, ({ cell }) => cell);
  const hasBatches = cells.some(({ itemsPerS, throughputQps }) => itemsPerS !== throughputQps);
  const streams = Math.max(1, ...cells.map(({ cell }) => cell.streams));
  const table = renderTable<CellSummary>(
    [
      ...columns,
      ...shareColumns(cells, style),
      { header: 'GPU median', text: (row) => timeText(row, row.gpuComputeMs), align: right },
      { header: 'spread', text: (row) => spreadText(row), align: right, dropRank: 2 },
      { header: 'runs/s', text: (row) => dash(row.throughputQps, formatNumber), align: right, dropRank: 1 },
      {
        header: 'items/s',
        text: (row) => (hasBatches ? dash(row.itemsPerS, formatNumber) : ''),
        align: right,
        dropRank: 5,
      },
      { header: 'latency p99', text: (row) => timeText(row, row.p99Ms), align: right, dropRank: 3 },
      { header: 'runs', text: ({ measured }) => String(measured), align: right, dropRank: 4 },
      ...remarkColumns(style),
    ],
    cells,
    look,
  );
  table.push(...captionLines(caption, look));
  const share = commonShare(cells);
  if (share !== null) {
    const text = `  really ${share}, in each of ${count(cells.filter(tells).length, 'cell')}`;
    table.push(style.dim(truncate(text, look.columns)));
  }
  if (streams > 1) table.push(...wrapWords(overlapNote(streams), look.columns).map(style.dim));
  return table;
}

function unfitText({ unfit, replaced }: SweepCounts): string {
  return replaced === 0 ? `${unfit} not fit` : `${unfit} not fit, ${replaced} of them measured again`;
}

/** A sweep that lacks nothing but profiles has all its numbers: `bench why` lacks layers. */
function failedText({ counts: { failed, unfit, skipped }, failures }: SweepReport): string {
  const lost = failures.filter(({ outcome }) => outcome.kind === 'failed');
  const isProfilesOnly = lost.length > 0 && lost.every(({ role }) => role === 'profile');
  return isProfilesOnly && unfit + skipped === 0
    ? `${failed} failed: of profiles only, every timed run is there`
    : `${failed} failed`;
}

/** `sweep 1a2b3c4d · quickstart · recorded (night1) · main 1234abcd+dirty`. */
function describeSweep(sweep: Sweep): string {
  const { sweepId, matrix, name, provenance, recordingSet } = sweep;
  return [
    `sweep ${sweepId.slice(0, 8)}`,
    printable(matrix ?? name ?? ''),
    recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`,
    describeCommit(sweep),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

export function describeCommit({ branch, commit, dirty }: Pick<Sweep, 'branch' | 'commit' | 'dirty'>): string {
  if (commit === null) return printable(branch ?? '');
  const short = `${commit.slice(0, 8)}${dirty === true ? '+dirty' : ''}`;
  return branch === null ? short : `${printable(branch)} ${short}`;
}

function dash(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value);
}

/** With several streams times overlap: the `~` says so. */
function timeText({ cell }: CellSummary, ms: number | null): string {
  return `${cell.streams > 1 && ms !== null ? '~' : ''}${dash(ms, formatMs)}`;
}

function spreadText({ spreadPercent }: CellSummary): string {
  return spreadPercent === null ? '' : formatPercent(spreadPercent, false);
}

function othersText({ others, noEngine }: CellSummary): string {
  const missing = noEngine === null ? [] : [`no engine: ${reasonText(noEngine)}`];
  return [
    ...missing,
    ...others.map(
      ({ role, outcome, times }) =>
        `${times}× ${role === 'timed' ? '' : `${role} `}${outcome.kind}: ${reasonText(outcome)}`,
    ),
  ].join('; ');
}

/** Those of runs that count: what made a run unfit stands in the next column. */
function flagsText({ flags, measured }: CellSummary): string {
  return flags
    .filter(({ effect }) => effect !== 'excluded')
    .toSorted((a, b) => Number(b.effect === 'barred') - Number(a.effect === 'barred'))
    .map(({ id, times }) => (times === measured ? FLAG_LABELS[id] : `${times}× ${FLAG_LABELS[id]}`))
    .join(', ');
}

function isDoubt({ effect }: CountedFlag): boolean {
  return effect !== 'explained';
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/** Only where it is in doubt: a quantized cell says how much of it is. */
function tells({ precisionShare }: CellSummary): boolean {
  return precisionShare !== null && (QUANTIZED.includes(precisionShare.asked) || !precisionShare.isReal);
}

/** What all cells that tell say alike, and none of them in doubt; null where they differ. */
function commonShare(cells: readonly CellSummary[]): string | null {
  const telling = cells.filter(tells);
  const texts = new Set(telling.map(({ precisionShare }) => shareText(precisionShare)));
  const [text] = texts;
  const isReal = telling.every(({ precisionShare }) => precisionShare?.isReal === true);
  return telling.length > 1 && texts.size === 1 && isReal ? (text ?? null) : null;
}

function shareColumns(cells: readonly CellSummary[], style: Style): Column<CellSummary>[] {
  if (!cells.some(tells) || commonShare(cells) !== null) return [];
  return [
    {
      header: 'really',
      text: (row) => (tells(row) ? shareText(row.precisionShare) : ''),
      style: ({ precisionShare }) => (precisionShare?.isReal === false ? style.bad : style.dim),
    },
  ];
}

function shareText(share: PrecisionShare | null): string {
  if (share === null) return '';
  const { asked, timeShare, layerShare, isReal } = share;
  const size =
    timeShare === null
      ? `${formatPercent(layerShare * 100, false)} of layers`
      : `${formatPercent(timeShare * 100, false)} of time`;
  return isReal ? `${asked} ${size}` : `✗ not really ${asked}: ${size}`;
}

/** One flag of each kind, with its evidence and what to do. */
function flagSection(cells: readonly CellSummary[], look: Look): string[] {
  const byKind = Map.groupBy(
    cells.flatMap(({ flags }) => flags),
    ({ id, effect }) => `${id} ${effect}`,
  );
  return [...byKind.values()].flatMap((same) => {
    const [first] = same;
    const runs = same.reduce((sum, { times }) => sum + times, 0);
    const times = runs === 1 ? '' : ` (${runs} runs, one of them)`;
    return first === undefined ? [] : flagLines(first, look, times);
  });
}

function reasonText(outcome: Outcome): string {
  const reason = outcomeReason(outcome);
  return reason === null ? outcome.kind : REASON_TEXT[reason];
}

function othersStyle({ others, noEngine }: CellSummary, style: Style): (text: string) => string {
  return noEngine !== null || others.some(({ outcome }) => outcome.kind === 'failed') ? style.bad : style.warn;
}
