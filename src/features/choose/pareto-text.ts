import type { Deployment, Deployments } from '../../judge/deployment.ts';
import type { ScalingStep } from './scaling.ts';
import type { PrecisionTally, SpeedUp } from './speed-ups.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { Sweep } from '../../records/sweep.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { accuracyText, deploymentJson, provenanceOf, shareText, sweepsLine } from './choice-words.ts';
import { DERIVED_LEGEND, derivedText, isDerived } from '../../terminal/derived-throughput.ts';
import { costColumns } from './cost-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber } from '../../terminal/numbers.ts';
import { renderScatter } from '../../terminal/charts/scatter-chart.ts';
import { scalingJson, scalingLines } from './scaling-table.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';

export interface ParetoReport extends Deployments {
  readonly sweeps: readonly Sweep[];
  readonly notes: readonly string[];
  readonly workloads: readonly (readonly Deployment[])[];
  /** What makes a deployment no choice; the front has none. */
  readonly dominators: ReadonlyMap<Deployment, Deployment>;
  /** By the key of the cell. */
  readonly speedUps: ReadonlyMap<string, SpeedUp>;
  readonly tallies: readonly PrecisionTally[];
  readonly chart: boolean;
  readonly scaling: readonly ScalingStep[];
  /** The table of them is printed. */
  readonly showsScaling: boolean;
}

export function paretoJson(report: ParetoReport) {
  const { sweeps, notes, workloads, dominators, speedUps, tallies, scaling, unmeasured } = report;
  return {
    schemaVersion: 1,
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    provenance: provenanceOf(sweeps),
    notes,
    workloads: workloads.map((workload) =>
      workload.map((one) => ({
        ...deploymentJson(one, cellLabel(one.cell)),
        dominatedBy: dominators.get(one)?.cell.key ?? null,
        speedUp: speedUpJson(speedUps.get(one.cell.key)),
      })),
    ),
    precisions: tallies,
    scaling: scaling.map(scalingJson),
    unmeasured: unmeasured.map((cell) => ({ key: cell.key, label: cellLabel(cell) })),
  };
}

function speedUpJson(speedUp: SpeedUp | undefined) {
  if (speedUp === undefined) return null;
  const { reference, ...numbers } = speedUp;
  return { referenceKey: reference.cell.key, ...numbers };
}

/** More charts than this are no overview. */
const MAX_CHARTS = 3;
const CHART_HEIGHT = 9;
const MARKS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

export function paretoText(report: ParetoReport, look: Look): string[] {
  const { sweeps, notes, unmeasured, workloads, tallies } = report;
  const { style, columns } = look;
  return [
    truncate(sweepsLine(sweeps), columns),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
    '',
    ...tableOf(report, look),
    ...charts(report, look),
    ...(report.showsScaling ? scalingLines(report.scaling, look) : []),
    '',
    ...tallies.flatMap((tally) => tallyLines(tally, look)),
    ...singleRunLines(report, look),
    ...uncheckedLines(workloads.flat(), look),
    ...unmeasured
      .slice(0, MAX_LISTED)
      .map((cell) => style.warn(truncate(`no measurement of ${printable(cellLabel(cell))}`, columns))),
    ...(unmeasured.length > MAX_LISTED ? [style.warn(`and of ${unmeasured.length - MAX_LISTED} more`)] : []),
  ];
}

const MAX_LISTED = 5;

function tableOf(report: ParetoReport, look: Look): string[] {
  const { measured, dominators, speedUps, workloads } = report;
  const { style } = look;
  const right = 'right' as const;
  const marks = marksOf(workloads);
  const charted = new Set(drawnOf(report).flat());
  // Where none is, the line below the table says so of all.
  const isAnyChecked = measured.some((one) => accuracyText(one) !== 'not checked');
  const about = cellColumns(measured, ({ cell }) => cell);
  const isFront = (one: Deployment): boolean => !dominators.has(one);
  const whole = (one: Deployment): ((text: string) => string) => (isFront(one) ? (text) => text : style.dim);
  const columns: Column<Deployment>[] = [
    { header: '', text: (one) => (charted.has(one) ? (marks.get(one) ?? '') : '') },
    { header: '', text: (one) => (isFront(one) ? '*' : '') },
    ...about.columns,
    {
      header: 'items/s',
      text: (one) => (one.itemsPerS === null ? '–' : derivedText(one, one.itemsPerS)),
      align: right,
    },
    { header: 'runs/s', text: (one) => derivedText(one, one.throughputQps), align: right, dropRank: 7 },
    { header: 'speed-up', text: ({ cell }) => speedUpText(speedUps.get(cell.key)), align: right },
    { header: '95 % interval', text: ({ cell }) => intervalText(speedUps.get(cell.key)), align: right, dropRank: 8 },
    { header: 'median', text: ({ latencyMs }) => formatMs(latencyMs), align: right, dropRank: 1 },
    { header: 'p99', text: ({ p99Ms }) => formatMs(p99Ms), align: right, dropRank: 2 },
    { header: 'accuracy', text: (one) => (isAnyChecked ? accuracyText(one) : ''), align: right },
    { header: 'engine MiB', text: ({ engineMib }) => amount(engineMib), align: right, dropRank: 4 },
    { header: 'context MiB', text: ({ contextMib }) => amount(contextMib), align: right, dropRank: 5 },
    ...costColumns(measured),
    { header: 'really', text: shareText, align: right, dropRank: 3 },
    { header: 'runs', text: ({ runsQps }) => String(runsQps.length), align: right, dropRank: 6 },
  ];
  const styled = columns.map((column) => ({ ...column, style: whole }));
  const table = renderTable(styled, measured, look);
  const legend =
    dominators.size === 0
      ? '* all are on the front: none has another one that is better in something and worse in nothing'
      : `* on the front; for the ${dominators.size} others another one is better in something and worse in nothing`;
  return [
    ...table,
    ...captionLines(about.caption, look),
    ...(measured.some(isDerived) ? wrapHanging(DERIVED_LEGEND, look.columns, 2).map(style.dim) : []),
    ...wrapHanging(legend, look.columns, 2).map(style.dim),
  ];
}

/** One letter for each point of a workload. */
function marksOf(workloads: ParetoReport['workloads']): Map<Deployment, string> {
  return new Map(workloads.flatMap((workload) => workload.map((one, place) => [one, MARKS[place] ?? '?'] as const)));
}

function amount(value: number | null): string {
  return value === null ? '' : formatNumber(value);
}

function ratioText(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

function speedUpText(speedUp: SpeedUp | undefined): string {
  if (speedUp === undefined) return '';
  return `${ratioText(speedUp.ratio)}${speedUp.verdict === 'unclear' ? '?' : ''}`;
}

/** None where there is no verdict: from single runs it would be a guess about other cells' noise. */
function intervalText(speedUp: SpeedUp | undefined): string {
  const interval = speedUp?.interval ?? null;
  if (interval === null || speedUp?.verdict === 'unclear') return '';
  return `${interval[0].toFixed(2)} … ${ratioText(interval[1])}`;
}

/** The workloads that get a chart: with points enough to make a picture, and not too many of them. */
function drawnOf({ workloads, chart }: ParetoReport): ParetoReport['workloads'] {
  const drawn = workloads.filter((workload) => workload.length > 2);
  return chart && drawn.length <= MAX_CHARTS ? drawn : [];
}

function charts(report: ParetoReport, look: Look): string[] {
  const { workloads, dominators } = report;
  const marks = marksOf(workloads);
  return drawnOf(report).flatMap((workload) => {
    const lines = renderScatter({
      points: workload.flatMap((one) =>
        one.latencyMs === null || one.itemsPerS === null
          ? []
          : [
              {
                x: one.latencyMs,
                y: one.itemsPerS,
                mark: marks.get(one) ?? '?',
                style: dominators.has(one) ? look.style.dim : look.style.strong,
              },
            ],
      ),
      height: CHART_HEIGHT,
      xLabel: 'median latency, ms',
      format: (value) => formatNumber(value),
      look,
    });
    const [first] = workload;
    const title = `${printable(first?.cell.model ?? '')}: items/s (logarithmic scales)`;
    return lines.length === 0 ? [] : ['', truncate(title, look.columns), ...lines];
  });
}

/** Said without being asked: a lower precision that is slower is bought with accuracy for nothing. */
function tallyLines(tally: PrecisionTally, look: Look): string[] {
  const { precision, reference, pairs, slower, faster, unclear, leastRatio, mostRatio } = tally;
  const [least, most] = [ratioText(leastRatio), ratioText(mostRatio)];
  const range = least === most ? least : `${least} to ${most}`;
  const [a, b] = [precision.toUpperCase(), reference.toUpperCase()];
  const isSlower = slower > faster;
  const same = pairs - slower - faster;
  const isSame = same >= Math.max(slower, faster);
  const how = isSame ? `as fast as ${b}` : `${isSlower ? 'slower' : 'faster'} than ${b}`;
  const times = isSame ? same : Math.max(slower, faster);
  const what = `${a} is ${how} in ${times} of ${count(pairs, 'pair')}: ${range} the throughput`;
  const doubt =
    unclear === 0 ? '' : unclear === pairs ? ' (no verdict: too few runs)' : ` (${unclear} without a verdict)`;
  return wrapWords(`${what}${doubt}`, look.columns).map(
    isSame ? (line) => line : isSlower ? look.style.bad : look.style.good,
  );
}

function singleRunLines({ speedUps }: ParetoReport, look: Look): string[] {
  const single = [...speedUps.values()].filter(({ verdict }) => verdict === 'unclear').length;
  if (single === 0) return [];
  const text = `? ${count(single, 'speed-up')} without a verdict: one run a side is never one, and few are often none; run with --repeats 5`;
  return wrapWords(text, look.columns).map(look.style.warn);
}

function uncheckedLines(deployments: readonly Deployment[], look: Look): string[] {
  const unchecked = new Set(
    deployments
      .filter((one) => accuracyText(one) === 'not checked')
      .map(({ cell }) => `${cell.model} ${cell.precision}`),
  );
  if (unchecked.size === 0) return [];
  const text = `accuracy not checked: ${[...unchecked].map(printable).join(', ')}; see bench accuracy --help`;
  return wrapWords(text, look.columns).map(look.style.warn);
}
