import { judgeExperiment, abSides, type AbExperiment } from '../../judge/experiment.ts';
import { metricOf } from '../../records/metric.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { ineligibleFlags, FLAG_LABELS, type RunFlag } from '../../records/run-flag.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { AbOutput } from './output.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { CellRun } from '../../records/run.ts';
import { findCells } from '../../store/cells.ts';
import { harnessVersionsOf } from '../../store/runs/run-facts.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { metricNamed } from '../../selection/by-name.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { captionLines, cellColumns, withCells } from '../../terminal/cell-columns.ts';
import type { Look, Style } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { estimateWords } from '../../terminal/words.ts';
import { dotted, wrapHanging } from '../../terminal/text-width.ts';

export function abReport(
  db: StoreDatabase,
  sweep: Sweep,
  experiment: AbExperiment,
): { readonly output: AbOutput; readonly details: AbDetails } {
  const runs = cellRunsOf(db, [sweep.sweepId]).filter(({ role }) => role === 'timed');
  const keys = experiment.pairs.map(({ a }) => a);
  const cells = findCells(db, keys);
  const requested = metricNamed(db, experiment.metric ?? undefined);
  const pairs = experiment.pairs.flatMap(({ a, b }) => {
    const cell = cells.get(a);
    return cell === undefined ? [] : [{ cell, b, ...abSides(cell, b, requested, runs) }];
  });
  const compared = pairs.map(({ sides }) => sides);
  const judged = judgeExperiment(compared, experiment.significantPercent);
  const keysOfA = new Set(keys);
  const marks = distinct(runs.filter(({ cellKey }) => !keysOfA.has(cellKey)));
  const marksOfA = distinct(runs.filter(({ cellKey }) => keysOfA.has(cellKey)));
  const versions = harnessVersionsOf(db, sweep.sweepId);
  const { before, name, notes, significantPercent, variables } = experiment;
  const output: AbOutput = {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    name,
    matrix: sweep.matrix,
    provenance: sweep.provenance,
    state: sweep.state,
    tensorrt: sweep.tensorrt,
    versions,
    variables,
    before,
    significantPercent,
    marks: marks.map(({ id }) => id),
    cells: judged.cells.flatMap(({ cellKey: _key, ...judgement }, at) => {
      const pair = pairs[at];
      if (pair === undefined) return [];
      const { b, cell, metric } = pair;
      const { betterIs, unit } = metricOf(metric);
      const reasons = [...judgement.reasons, ...pair.reasons];
      return [{ key: cell.key, label: cellLabel(cell), metric, unit, betterIs, ...judgement, bKey: b, reasons }];
    }),
    overall: judged.overall,
    notes: [...notes, ...notesOf(experiment, marksOfA, versions)],
  };
  return { output, details: { cells, marks, ownNotes: notes.length } };
}

function notesOf({ before }: AbExperiment, marksOfA: readonly RunFlag[], versions: AbOutput['versions']): string[] {
  const byHarness = Map.groupBy(versions, ({ harness }) => harness);
  return [
    ...[...byHarness].flatMap(([harness, all]) =>
      all.length < 2 ? [] : [`${all.length} versions of ${harness} measured this: they make no picture together`],
    ),
    ...marksOfA.map(({ evidence, id }) => `A itself is marked ${FLAG_LABELS[id]}: ${evidence}`),
    ...Object.entries(before).flatMap(([name, values]) => {
      const set = values.filter((value) => value !== null);
      return set.length === 0 ? [] : [`A is measured with ${name}=${set.join(', ')}`];
    }),
  ];
}

/** Each kind of excluding flag, with the evidence of the first. */
function distinct(runs: readonly CellRun[]): RunFlag[] {
  const flags = runs.flatMap((run) => ineligibleFlags(run.flags));
  return [...new Map(flags.toReversed().map((flag) => [flag.id, flag])).values()].toReversed();
}

/** Shown in the text, not part of `--json`. */
export interface AbDetails {
  readonly cells: ReadonlyMap<string, KeyedCell>;
  /** Flags that exclude the runs of B from baselines. */
  readonly marks: readonly RunFlag[];
  /** The first notes are about the experiment itself. */
  readonly ownNotes: number;
}

type AbRow = AbOutput['cells'][number] & { readonly cell: KeyedCell };

type Judgement = AbOutput['overall'];

type AbVerdict = Judgement['verdict'];

export function abText(ab: AbOutput, { cells, marks, ownNotes }: AbDetails, look: Look): string[] {
  const { columns, style } = look;
  const { name, notes, state } = ab;
  const wrapped = (text: string): string[] => wrapHanging(text, columns, 2);
  return [
    ...wrapped(
      dotted([
        `${printable(name)}: B with ${settingsText(ab)}, A as it is`,
        estimateWords(ab.cells.map(({ metric }) => metric)),
      ]),
    ).map(style.strong),
    ...wrapped(aboutText(ab)).map(style.dim),
    ...(state === 'finished' ? [] : [style.warn(`this sweep is ${state}`)]),
    '',
    ...tableOf(withCells(ab.cells, cells), look),
    ...ab.cells.flatMap(({ label, reasons }) =>
      reasons.length === 0
        ? []
        : wrapped(`  ${printable(label)}: ${reasons.map(printable).join('; ')}`).map(style.warn),
    ),
    '',
    ...wrapped(`threshold ${thresholdText(ab)}: ${overallText(ab)}`).map(style.strong),
    ...marks.flatMap(({ evidence, id }) =>
      wrapped(`✗ B is marked ${FLAG_LABELS[id]}: ${printable(evidence)}`).map(style.bad),
    ),
    ...(marks.length === 0 ? [] : wrapped('  never a baseline, never in the gate, never the best')),
    ...notes.slice(ownNotes).flatMap((note) => wrapped(`note: ${printable(note)}`).map(style.warn)),
    ...notes.slice(0, ownNotes).flatMap((note) => wrapped(`note: ${printable(note)}`).map(style.dim)),
  ];
}

function settingsText({ variables }: AbOutput): string {
  return Object.entries(variables)
    .map(([name, value]) => printable(`${name}=${value}`))
    .join(' ');
}

/** `sweep 1a2b3c4d · moe · measured · command 1.2.0`. */
function aboutText({ matrix, provenance, sweepId, tensorrt, versions }: AbOutput): string {
  return [
    `sweep ${sweepId.slice(0, 8)}`,
    printable(matrix ?? ''),
    provenance,
    tensorrt === null ? '' : `TensorRT ${printable(tensorrt)}`,
    ...versions.map(({ harness, version }) => printable(`${harness} ${version ?? '(no version)'}`)),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function thresholdText({ significantPercent }: AbOutput): string {
  return `${formatNumber(significantPercent, 3).replace(/\.?0+$/, '')} %`;
}

function tableOf(cells: readonly AbRow[], look: Look): string[] {
  const right = 'right' as const;
  const about = cellColumns(cells, ({ cell }) => cell);
  const metrics = new Set(cells.map(({ metric }) => metric));
  const columns: Column<AbRow>[] = [
    ...about.columns,
    {
      header: 'metric',
      text: ({ metric }) => (metrics.size > 1 ? printable(metricOf(metric).label) : ''),
      minWidth: 6,
    },
    { header: 'A', text: (row) => valueText(row, row.a), align: right, dropRank: 2 },
    { header: 'B', text: (row) => valueText(row, row.b), align: right, dropRank: 2 },
    { header: 'B is better by', short: 'gain', text: ({ gainPercent }) => formatPercent(gainPercent), align: right },
    { header: '95 % interval', text: ({ ciPercent }) => intervalText(ciPercent), align: right, dropRank: 1 },
    { header: 'runs', text: ({ runs }) => runs.join('/'), align: right, dropRank: 3 },
    { header: 'verdict', text: verdictText, style: ({ verdict }) => styleOf(verdict, look.style) },
  ];
  return [...renderTable(columns, cells, look), ...captionLines(about.caption, look)];
}

function valueText({ unit }: AbRow, value: number | null): string {
  return value === null ? '–' : `${formatNumber(value)} ${printable(unit)}`;
}

function verdictText({ ciPercent, moreRepeats, verdict }: Judgement): string {
  switch (verdict) {
    case 'significant':
      return 'significant: a bottleneck';
    case 'notABottleneck':
      return ciPercent !== null && ciPercent[1] < 0 ? 'not a bottleneck: B is worse' : 'not a bottleneck';
    case 'unclear':
      return moreRepeats === null
        ? 'unclear'
        : `unclear, ${count(moreRepeats, 'more repeat')} per side would settle it`;
    case 'failed':
      return 'no result';
  }
}

function styleOf(verdict: AbVerdict, style: Style): (text: string) => string {
  switch (verdict) {
    case 'significant':
      return style.bad;
    case 'notABottleneck':
      return style.good;
    default:
      return style.warn;
  }
}

const COUNTED: readonly (readonly [AbVerdict, string])[] = [
  ['significant', 'significant'],
  ['notABottleneck', 'no bottleneck'],
  ['unclear', 'unclear'],
  ['failed', 'without a result'],
];

function overallText({ cells, overall }: AbOutput): string {
  const counted = cells.filter(({ verdict }) => verdict !== 'failed').length;
  const size =
    overall.ciPercent === null
      ? ''
      : ` (${formatPercent(overall.gainPercent)}, 95 % interval ${intervalText(overall.ciPercent)})`;
  if (cells.length === 1) return `${verdictText(overall)}${size}`;
  const each = COUNTED.flatMap(([verdict, words]) => {
    const number = cells.filter((cell) => cell.verdict === verdict).length;
    return number === 0 ? [] : [`${number} ${words}`];
  });
  return `${verdictText(overall)}${size} in the mean of ${count(counted, 'cell')}: ${each.join(', ')}`;
}
