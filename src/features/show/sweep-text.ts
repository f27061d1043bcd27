import { batchOf } from '../../records/cell.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { FLAG_OF_BOUND } from '../../judge/bound.ts';
import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { FLAG_LABELS, isIneligible } from '../../records/run-flag.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import {
  derivedText,
  DERIVED_LEGEND,
  isDerived,
  count,
  formatMs,
  formatNumber,
  formatPercent,
  runsAndBuilds,
} from '../../terminal/numbers.ts';
import { failureSection } from '../../terminal/failure-section.ts';
import { type SweepNumbers, withReused } from '../../store/sweeps/overview.ts';
import type { ShownSweep } from './output.ts';
import type { CellSummary } from './swept.ts';
import { REASON_TEXT, adviceOf, boundLines, describeCommit, flagLines } from '../../terminal/words.ts';
import { switchGainLines } from '../../terminal/switch-gain-text.ts';
import type { Look, Style } from '../../terminal/look.ts';
import { overlapNote } from '../../terminal/statistics-table.ts';
import { dotted, truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { type Column, numberColumn, textColumn } from '../../terminal/table.ts';
import { type MapAxes, type MappedCell, valueMap } from '../../terminal/charts/heat-map.ts';

type SweepCell = ShownSweep['cells'][number];

type CellRow = SweepCell & { readonly cell: KeyedCell };

/**
 * @param numbers numbers of the sweep in the store
 * @param mapped metric of a map, which replaces the rows of cells
 */
export function sweepText(
  shown: ShownSweep,
  numbers: SweepNumbers,
  summaries: readonly CellSummary[],
  look: Look,
  mapped: readonly MappedCell[] | null = null,
  axes?: MapAxes,
): string[] {
  const { counts, failures } = shown;
  const { style } = look;
  const cells = withCells(shown.cells, new Map(summaries.map(({ cell }) => [cell.key, cell])));
  const table = mapped === null ? cellTables(cells, look) : valueMap(mapped, look, axes);
  table.push(...boundSection(cells, look), ...flagSection(cells, look), ...failureSection(failures, look));
  for (const by of ['cudaGraph', 'dataTransfers', 'neighbor'] as const)
    table.push(...switchGainLines(summaries, by, look));
  table.push(...rebuiltLines(shown, look));
  const parts = [
    runsAndBuilds({ ...withReused(numbers), runs: numbers.runs - counts.replaced + counts.skipped }),
    counts.kept > 0 ? `${counts.kept} kept from before` : '',
    counts.unfit > 0 ? style.warn(unfitText(counts)) : '',
    counts.failed > 0 ? style.bad(failedText(shown)) : '',
    counts.skipped > 0 ? style.warn(`${counts.skipped} skipped`) : '',
  ].filter((part) => part !== '');
  return [
    style.strong(parts.join(', ')),
    ...wrapHanging(describeSweep(shown), look.columns, 2).map(style.dim),
    '',
    ...table,
  ];
}

/**
 * Tactics and fusions that the builder chose differently than for the previous sweep, and the change in GPU compute
 * time.
 */
function rebuiltLines({ rebuilt }: ShownSweep, { columns, style }: Look): string[] {
  return rebuilt.flatMap(({ base, changePercent, head, isSameInputs, layers, layersChanged, model, precision }) => {
    const how = isSameInputs ? 'rebuilt' : 'built from other inputs';
    const cost = changePercent === null ? '' : `, GPU compute ${formatPercent(changePercent)} since the previous sweep`;
    const line = `${printable(model)} ${precision} was ${how}: ${layersChanged} of ${count(layers, 'layer')} have other tactics or fusions${cost}`;
    const see = `→ bench layers --diff ${base.slice(0, 8)} ${head.slice(0, 8)}`;
    return [...wrapHanging(`  ${line}`, columns, 4), ...wrapHanging(`    ${see}`, columns, 6).map(style.dim)];
  });
}

/** A table for trtexec's cells, then tables for other harnesses with other metrics. */
function cellTables(cells: readonly CellRow[], look: Look): string[] {
  const driven = cells.filter(({ cell }) => cell.harness !== undefined);
  const own = cells.filter(({ cell }) => cell.harness === undefined);
  return [
    ...(own.length > 0 ? trtexecTable(own, look) : []),
    ...(own.length > 0 && driven.length > 0 ? [''] : []),
    ...(driven.length > 0 ? harnessTable(driven, look) : []),
  ];
}

function harnessTable(cells: readonly CellRow[], look: Look): string[] {
  const { style } = look;
  const table = cellTable<CellRow>(
    cells,
    [
      { header: 'metric', text: ({ metric }) => metricOf(metric).label, minWidth: 8 },
      numberColumn('median', ({ metric, value }) =>
        dash(value, (known) => `${formatNumber(known)} ${metricOf(metric).unit}`),
      ),
      numberColumn('spread', spreadText, 1),
      numberColumn('items/s', (row) => (row.itemsPerS === null ? '' : derivedText(row, row.itemsPerS)), 4),
      numberColumn('runs', ({ measured }) => String(measured), 2),
      ...remarkColumns(style),
    ],
    look,
  );
  const isMarked = cells.some((row) => row.itemsPerS !== null && isDerived(row));
  const legend = isMarked ? wrapHanging(DERIVED_LEGEND, look.columns, 2).map(style.dim) : [];
  return [...table, ...legend];
}

/** Rank of a column that a narrow table drops before any number. */
const FLAGS_RANK = 6;
/** Lines below the table explain every bottleneck except the GPU. */
const BOUND_RANKS = { compute: 7, explained: 2.5 };

function remarkColumns(style: Style): Column<CellRow>[] {
  return [
    textColumn('flags', flagsText, FLAGS_RANK, {
      style: ({ flags }) =>
        isIneligible(flags) ? style.bad : flags.some(({ effect }) => effect !== 'explained') ? style.warn : style.dim,
      minWidth: 10,
    }),
    {
      header: '',
      text: othersText,
      style: ({ others, noEngine }) =>
        noEngine !== null || others.some(({ kind }) => kind === 'failed') ? style.bad : style.warn,
      minWidth: 10,
      isSentence: true,
    },
  ];
}

function trtexecTable(cells: readonly CellRow[], look: Look): string[] {
  const { style } = look;
  const hasBatches = cells.some(({ itemsPerS, throughputQps }) => itemsPerS !== throughputQps);
  const isTunedElsewhere = cells.some((row) => !['', '1'].includes(optText(row)));
  const streams = Math.max(1, ...cells.map(({ cell }) => cell.streams));
  const isExplained = cells.some(({ bound }) => bound !== null && bound.by !== 'compute');
  const boundRank = BOUND_RANKS[isExplained ? 'explained' : 'compute'];
  const table = cellTable<CellRow>(
    cells,
    [
      ...shareColumns(cells, style),
      numberColumn('GPU median', (row) => timeText(row, row.gpuComputeMs)),
      numberColumn('spread', spreadText, 2),
      numberColumn('qps', (row) => dash(row.throughputQps, formatNumber), 1),
      numberColumn('items/s', (row) => (hasBatches ? dash(row.itemsPerS, formatNumber) : ''), 5),
      numberColumn('opt×', (row) => (isTunedElsewhere ? optText(row) : ''), 5.5),
      { header: 'bound by', text: ({ bound }) => bound?.by ?? '–', style: boundStyle(style), dropRank: boundRank },
      numberColumn('latency p99', (row) => timeText(row, row.p99Ms), 3),
      numberColumn('runs', ({ measured }) => String(measured), 4),
      ...remarkColumns(style),
    ],
    look,
  );
  const share = commonShare(cells);
  if (share !== null) {
    const text = `  actual precision ${share}, in each of ${count(cells.filter(hasShare).length, 'cell')}`;
    table.push(style.dim(truncate(text, look.columns)));
  }
  if (streams > 1) table.push(...wrapWords(overlapNote(streams), look.columns).map(style.dim));
  return table;
}

/** Ratio of its batch to the batch that its engine is tuned for. */
function optText({ cell, tunedBatch }: CellRow): string {
  const batch = batchOf(cell.shapes);
  return batch === null || tunedBatch === null ? '' : formatNumber(batch / tunedBatch, 2);
}

function unfitText({ unfit, replaced }: ShownSweep['counts']): string {
  return replaced === 0 ? `${unfit} unfit` : `${unfit} unfit, ${replaced} of them measured again`;
}

/** A sweep that lacks only profiles has all its numbers; only `bench why` lacks the layers. */
function failedText({ counts: { failed, unfit, skipped }, failures }: ShownSweep): string {
  const lost = failures.filter(({ kind }) => kind === 'failed');
  const isProfilesOnly = lost.length > 0 && lost.every(({ role }) => role === 'profile');
  return isProfilesOnly && unfit + skipped === 0
    ? `${failed} failed, profiles only: every timed run is stored`
    : `${failed} failed`;
}

/** `sweep 1a2b3c4d · quickstart · recorded (night1) · main 1234abcd+dirty`. */
function describeSweep(sweep: ShownSweep): string {
  const { sweepId, matrix, name, provenance, recordingSet } = sweep;
  return dotted([
    `sweep ${sweepId.slice(0, 8)}`,
    printable(matrix ?? name ?? ''),
    recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`,
    describeCommit(sweep),
  ]);
}

function dash(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value);
}

/** With several streams, times overlap, which `~` marks. */
function timeText({ cell }: CellRow, ms: number | null): string {
  return `${cell.streams > 1 && ms !== null ? '~' : ''}${dash(ms, formatMs)}`;
}

function spreadText({ spreadPercent }: SweepCell): string {
  return spreadPercent === null ? '' : formatPercent(spreadPercent, false);
}

function othersText({ others, noEngine }: SweepCell): string {
  return [
    ...(noEngine === null ? [] : [`no engine: ${REASON_TEXT[noEngine]}`]),
    ...others.map(
      ({ role, kind, reason, times }) =>
        `${times}× ${role === 'timed' ? '' : `${role} `}${kind}: ${reason === null ? kind : REASON_TEXT[reason]}`,
    ),
  ].join('; ');
}

/** Flags of runs that count. The next column says what made a run unfit. */
function flagsText({ flags, measured }: SweepCell): string {
  return flags
    .filter(({ effect }) => effect !== 'excluded')
    .toSorted((a, b) => Number(b.effect === 'barred') - Number(a.effect === 'barred'))
    .map(({ id, times }) => (times === measured ? FLAG_LABELS[id] : `${times}× ${FLAG_LABELS[id]}`))
    .join(', ');
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/** Shows the actual precision of quantized cells, and wherever it is in doubt. */
function hasShare({ precisionShare }: SweepCell): boolean {
  return precisionShare !== null && (QUANTIZED.includes(precisionShare.asked) || !precisionShare.isReal);
}

/** The share if all cells that have one agree and none is in doubt; else null. */
function commonShare(cells: readonly SweepCell[]): string | null {
  const sharing = cells.filter(hasShare);
  const texts = new Set(sharing.map(({ precisionShare }) => shareText(precisionShare)));
  const [text] = texts;
  const isReal = sharing.every(({ precisionShare }) => precisionShare?.isReal === true);
  return sharing.length > 1 && texts.size === 1 && isReal ? (text ?? null) : null;
}

function shareColumns(cells: readonly SweepCell[], style: Style): Column<CellRow>[] {
  if (!cells.some(hasShare) || commonShare(cells) !== null) return [];
  return [
    {
      header: 'actual precision',
      text: (row) => (hasShare(row) ? shareText(row.precisionShare) : ''),
      style: ({ precisionShare }) => (precisionShare?.isReal === false ? style.bad : style.dim),
    },
  ];
}

function shareText(share: SweepCell['precisionShare']): string {
  if (share === null) return '';
  const { asked, timeShare, layerShare, isReal } = share;
  const size =
    timeShare === null
      ? `${formatPercent(layerShare * 100, false)} of layers`
      : `${formatPercent(timeShare * 100, false)} of time`;
  return isReal ? `${asked} ${size}` : `✗ not ${asked}: ${size}`;
}

function boundStyle(style: Style) {
  return ({ bound }: SweepCell) => (bound === null || bound.by === 'compute' ? style.dim : (text: string) => text);
}

/** For each bottleneck other than the GPU that no flag covers: one cell, with evidence and advice. */
function boundSection(cells: readonly SweepCell[], look: Look): string[] {
  const unflagged = cells.filter(
    ({ bound, flags }) =>
      bound !== null && bound.by !== 'compute' && !flags.some(({ id }) => id === FLAG_OF_BOUND[bound.by]),
  );
  return [...Map.groupBy(unflagged, ({ bound }) => `${bound?.by} ${bound?.advice}`).values()].flatMap((same) => {
    const [{ bound, label } = { bound: null, label: '' }] = same;
    if (bound === null) return [];
    const times = same.length === 1 ? '' : ` (${same.length} cells; this is one of them)`;
    return boundLines({ ...bound, advice: named(label, bound.advice) }, [], look, times);
  });
}

function named(label: string, advice: string): string {
  return `${printable(label)}: ${advice}`;
}

/** One flag of each kind, with evidence and advice. */
function flagSection(cells: readonly SweepCell[], look: Look): string[] {
  const all = cells.flatMap(({ bound, flags, label }) =>
    flags.map((flag) => ({ ...flag, label, advice: adviceOf(flag, bound) })),
  );
  const byKind = Map.groupBy(all, ({ advice, effect, id }) => `${id} ${effect} ${advice}`);
  return [...byKind.values()].flatMap((same) => {
    const [first] = same;
    const runs = same.reduce((sum, { times }) => sum + times, 0);
    const times = runs === 1 ? '' : ` (${runs} runs; this is one of them)`;
    return first === undefined ? [] : flagLines(first, look, named(first.label, first.advice), times);
  });
}
