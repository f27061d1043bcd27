import { batchOf } from '../../records/cell.ts';
import { METRIC_IDS } from '../../records/metric.ts';
import { withoutControls } from '../../text/printable.ts';
import { outcomeReason } from '../../records/outcome.ts';
import {
  environmentOf,
  harnessMetrics,
  judgedMetric,
  marksOf,
  type ReportedCell,
  type ReportedRun,
  type ReportedSweep,
  statusOf,
} from './reported-sweep.ts';

type Value = string | number | boolean | null;

type Column = readonly [name: string, value: (cell: ReportedCell, run: ReportedRun) => Value];

/** One line per timed run, RFC 4180; units are in the names of columns. */
export function csvText({ cells, environments, sweeps }: ReportedSweep): string {
  const bySweep = new Map(sweeps.map((sweep) => [sweep.sweepId, sweep]));
  const columns: readonly Column[] = [
    ['sweepId', (_, run) => run.sweepId],
    ['matrix', (_, run) => bySweep.get(run.sweepId)?.matrix ?? null],
    ['provenance', (_, run) => bySweep.get(run.sweepId)?.provenance ?? null],
    ['commit', (_, run) => bySweep.get(run.sweepId)?.commit ?? null],
    ['branch', (_, run) => bySweep.get(run.sweepId)?.branch ?? null],
    ['runId', (_, run) => run.runId],
    ['startedAt', (_, run) => run.startedAt],
    ['cellKey', ({ cell }) => cell.key],
    ['cell', ({ name }) => name],
    ['model', ({ cell }) => cell.model],
    ['precision', ({ cell }) => cell.precision],
    ['shapes', ({ cell }) => shapesText(cell.shapes)],
    ['batch', ({ cell }) => batchOf(cell.shapes)],
    ['cudaGraph', ({ cell }) => cell.cudaGraph],
    ['dataTransfers', ({ cell }) => cell.dataTransfers],
    ['spinWait', ({ cell }) => cell.spinWait],
    ['streams', ({ cell }) => cell.streams],
    ['axisFlags', ({ cell }) => flagsText(cell.axisFlags)],
    ['harness', ({ cell }) => cell.harness?.name ?? 'trtexec'],
    ['timer', ({ cell }) => cell.harness?.timer ?? 'cudaEvent'],
    ['repeat', (_, run) => run.repeat],
    ['outcome', (_, run) => run.outcome.kind],
    ['reason', (_, run) => outcomeReason(run.outcome)],
    ...[...METRIC_IDS, ...harnessMetrics(cells)].map((metric): Column => [
      metric,
      (_, run) => run.values[metric] ?? null,
    ]),
    ['boundBy', (_, run) => run.boundBy],
    ['queries', (_, run) => run.queries],
    ['wallS', (_, run) => run.wallS],
    ['gpu', (cell) => environmentOf(cell, environments)?.gpuName ?? null],
    ['driver', (_, run) => environments.get(run.environmentId)?.driver ?? null],
    ['tensorrt', (_, run) => environments.get(run.environmentId)?.tensorrt ?? null],
    ['host', (_, run) => environments.get(run.environmentId)?.host ?? null],
    ['verdict', (cell) => statusOf(cell)],
    ['verdictMetric', (cell) => judgedMetric(cell).id],
    ['before', ({ judgement }) => (judgement.kind === 'values' ? null : judgement.base)],
    ['now', ({ judgement }) => (judgement.kind === 'values' ? null : judgement.head)],
    ['changePercent', ({ judgement }) => (judgement.kind === 'values' ? null : judgement.changePercent)],
    ['ciLowPercent', ({ judgement }) => (judgement.kind === 'values' ? null : (judgement.ciPercent?.[0] ?? null))],
    ['ciHighPercent', ({ judgement }) => (judgement.kind === 'values' ? null : (judgement.ciPercent?.[1] ?? null))],
    [
      'findings',
      ({ judgement }) => (judgement.kind === 'judged' ? judgement.findings.map(({ id }) => id).join(' ') : null),
    ],
    ['marks', (_, run) => marksOf({ runs: [run] })],
  ];
  const rows = cells.flatMap((cell) => cell.runs.map((run) => columns.map(([, value]) => csvCell(value(cell, run)))));
  return [columns.map(([name]) => name), ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

function shapesText(shapes: ReportedCell['cell']['shapes']): string {
  return Object.entries(shapes)
    .map(([input, dims]) => `${input}:${dims.join('x')}`)
    .join(',');
}

function flagsText(flags: Readonly<Record<string, string>>): string {
  return Object.entries(flags)
    .map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`))
    .join(' ');
}

/** Text that a spreadsheet would read as a formula gets an apostrophe (OWASP, CSV injection); numbers are ours. */
function csvCell(value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = withoutControls(value);
  const tame = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame;
}
