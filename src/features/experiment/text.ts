import type { AbCellJudgement, AbJudgement, AbVerdict } from '../../judge/judge-experiment.ts';
import type { AbExperiment } from '../../judge/experiment.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { FLAG_LABELS, type RunFlag } from '../../records/run-flag.ts';
import type { Sweep } from '../../records/sweep.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look, Style } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

export interface AbCell extends AbCellJudgement {
  /** As it is. */
  readonly cell: KeyedCell;
  readonly bKey: string;
  readonly metric: MetricId;
}

export interface AbReport {
  readonly sweep: Sweep;
  readonly experiment: AbExperiment;
  readonly cells: readonly AbCell[];
  readonly overall: AbJudgement;
  /** What bars the runs of B from baselines. */
  readonly marks: readonly RunFlag[];
  /** The same of A, which was meant to be as it is used. */
  readonly marksOfA: readonly RunFlag[];
  readonly versions: readonly { readonly harness: string; readonly version: string | null }[];
}

export function abJson(report: AbReport) {
  const { cells, experiment, marks, overall, sweep, versions } = report;
  const { before, metric: _metric, name, notes, pairs: _pairs, significantPercent, variables } = experiment;
  return {
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
    cells: cells.map(({ cell, cellKey: _key, metric, ...judgement }) => {
      const { betterIs, unit } = metricOf(metric);
      return { key: cell.key, label: cellLabel(cell), metric, unit, betterIs, ...judgement };
    }),
    overall,
    notes: [...notes, ...notesOf(report)],
  };
}

export function abText(report: AbReport, look: Look): string[] {
  const { cells, experiment, marks, overall, sweep } = report;
  const { columns, style } = look;
  const wrapped = (text: string): string[] => wrapHanging(text, columns, 2);
  return [
    ...wrapped(`${printable(experiment.name)}: B with ${settingsText(experiment)}, A as it is`).map(style.strong),
    ...wrapped(aboutText(report)).map(style.dim),
    ...(sweep.state === 'finished' ? [] : [style.warn(`this sweep is ${sweep.state}`)]),
    '',
    ...tableOf(cells, look),
    ...cells.flatMap(({ cell, reasons }) =>
      reasons.length === 0
        ? []
        : wrapped(`  ${printable(cellLabel(cell))}: ${reasons.map(printable).join('; ')}`).map(style.warn),
    ),
    '',
    ...wrapped(`threshold ${thresholdText(experiment)}: ${overallText(report)}`).map(styleOf(overall.verdict, style)),
    ...marks.flatMap(({ evidence, id }) =>
      wrapped(`✗ B is marked ${FLAG_LABELS[id]}: ${printable(evidence)}`).map(style.bad),
    ),
    ...(marks.length === 0 ? [] : wrapped('  never a baseline, never in the gate, never the best')),
    ...notesOf(report).flatMap((note) => wrapped(`note: ${printable(note)}`).map(style.warn)),
    ...experiment.notes.flatMap((note) => wrapped(`note: ${printable(note)}`).map(style.dim)),
  ];
}

function settingsText({ variables }: AbExperiment): string {
  return Object.entries(variables)
    .map(([name, value]) => printable(`${name}=${value}`))
    .join(' ');
}

/** `sweep 1a2b3c4d · moe · measured · command 1.2.0`. */
function aboutText({ sweep, versions }: AbReport): string {
  const { provenance, sweepId, tensorrt } = sweep;
  return [
    `sweep ${sweepId.slice(0, 8)}`,
    printable(sweep.matrix ?? ''),
    provenance,
    tensorrt === null ? '' : `TensorRT ${printable(tensorrt)}`,
    ...versions.map(({ harness, version }) => printable(`${harness} ${version ?? '(no version)'}`)),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function thresholdText({ significantPercent }: AbExperiment): string {
  return `${formatNumber(significantPercent, 3).replace(/\.?0+$/, '')} %`;
}

function tableOf(cells: readonly AbCell[], look: Look): string[] {
  const right = 'right' as const;
  const about = cellColumns(cells, ({ cell }) => cell);
  const metrics = new Set(cells.map(({ metric }) => metric));
  const columns: Column<AbCell>[] = [
    ...about.columns,
    {
      header: 'metric',
      text: ({ metric }) => (metrics.size > 1 ? printable(metricOf(metric).label) : ''),
      minWidth: 6,
    },
    { header: 'A', text: (row) => valueText(row, row.a), align: right, dropRank: 2 },
    { header: 'B', text: (row) => valueText(row, row.b), align: right, dropRank: 2 },
    { header: 'B is better by', short: 'gain', text: ({ gainPercent }) => gainText(gainPercent), align: right },
    { header: '95 % interval', text: ({ ciPercent }) => intervalText(ciPercent), align: right, dropRank: 1 },
    { header: 'runs', text: ({ runs }) => runs.join('/'), align: right, dropRank: 3 },
    { header: 'verdict', text: verdictText, style: ({ verdict }) => styleOf(verdict, look.style) },
  ];
  return [...renderTable(columns, cells, look), ...captionLines(about.caption, look)];
}

function valueText({ metric }: AbCell, value: number | null): string {
  return value === null ? '–' : `${formatNumber(value)} ${printable(metricOf(metric).unit)}`;
}

function gainText(gainPercent: number | null): string {
  return formatPercent(gainPercent);
}

function verdictText({ ciPercent, moreRepeats, verdict }: AbJudgement): string {
  switch (verdict) {
    case 'significant':
      return 'significant: a bottleneck';
    case 'notABottleneck':
      return ciPercent !== null && ciPercent[1] < 0 ? 'not a bottleneck: B is worse' : 'not a bottleneck';
    case 'unclear':
      return moreRepeats === null ? 'unclear' : `unclear, ${moreText(moreRepeats)}`;
    case 'failed':
      return 'no result';
  }
}

function moreText(moreRepeats: number): string {
  return `${count(moreRepeats, 'more repeat')} a side would settle it`;
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

function overallText({ cells, overall }: AbReport): string {
  const counted = cells.filter(({ verdict }) => verdict !== 'failed').length;
  const size =
    overall.ciPercent === null
      ? ''
      : ` (${gainText(overall.gainPercent)}, 95 % interval ${intervalText(overall.ciPercent)})`;
  if (cells.length === 1) return `${verdictText(overall)}${size}`;
  const of = (verdict: AbVerdict, words: string): string => {
    const number = cells.filter((cell) => cell.verdict === verdict).length;
    return number === 0 ? '' : `${number} ${words}`;
  };
  const each = [
    of('significant', 'significant'),
    of('notABottleneck', 'no bottleneck'),
    of('unclear', 'unclear'),
    of('failed', 'without a result'),
  ].filter((part) => part !== '');
  return `${verdictText(overall)}${size} in the mean of ${count(counted, 'cell')}: ${each.join(', ')}`;
}

/** What a reader must know before believing it. */
function notesOf({ experiment, marksOfA, versions }: AbReport): string[] {
  const byHarness = Map.groupBy(versions, ({ harness }) => harness);
  return [
    ...[...byHarness].flatMap(([harness, all]) =>
      all.length < 2 ? [] : [`${all.length} versions of ${harness} measured this: they make no picture together`],
    ),
    ...marksOfA.map(({ evidence, id }) => `A itself is marked ${FLAG_LABELS[id]}: ${evidence}`),
    ...Object.entries(experiment.before).flatMap(([name, values]) => {
      const set = values.filter((value) => value !== null);
      return set.length === 0 ? [] : [`A is measured with ${name}=${set.join(', ')}`];
    }),
  ];
}
