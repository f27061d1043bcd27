import { batchOf, type KeyedCell } from '../../records/cell.ts';
import { namedWords } from '../../records/axis.ts';
import { printable, shortList } from '../../text/printable.ts';
import type { Sweep } from '../../records/sweep.ts';
import { captionLines, cellColumns, withCells } from '../../terminal/cell-columns.ts';
import { accuracyText, sweepsLine } from './deployments.ts';
import type { ParetoOutput } from './output.ts';
import {
  DERIVED_LEGEND,
  derivedText,
  isDerived,
  count,
  formatNumber,
  formatPercent,
  formatShare,
  overlapNote,
  streamMs,
} from '../../terminal/numbers.ts';
import { type Look, dotted, truncate, wrapHanging, wrapWords } from '../../terminal/look.ts';
import { renderScatter } from '../../terminal/charts/scatter-chart.ts';
import { type Column, renderTable, numberColumn } from '../../terminal/table.ts';
import { LEAST_PRECISION_SHARE } from '../../layers/real-precision.ts';

/** Shown in the text but not in `--json`. */
interface ParetoDetails {
  readonly sweeps: readonly Sweep[];
  /** The measured cells. */
  readonly cells: ReadonlyMap<string, KeyedCell>;
  readonly chart: boolean;
  readonly showsScaling: boolean;
}

type Choice = ParetoOutput['workloads'][number][number];

type Row = Choice & { readonly cell: KeyedCell };

const MAX_CHARTS = 3;
const CHART_HEIGHT = 9;
const MARKS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

export function paretoText(output: ParetoOutput, details: ParetoDetails, look: Look): string[] {
  const { notes, unmeasured, workloads, precisions } = output;
  const { style, columns } = look;
  const choices = withCells(workloads.flat(), details.cells);
  // None if there are too many, or too few points.
  const charts = workloads.filter((workload) => details.chart && workload.length > 2);
  const drawn = charts.length > MAX_CHARTS ? [] : charts.map((workload) => withCells(workload, details.cells));
  const missing = shortList(
    unmeasured.map(({ label }) => printable(label)),
    MAX_LISTED,
  );
  return [
    ...wrapHanging(dotted([sweepsLine(details.sweeps), 'medians of runs']), columns, 2),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
    '',
    ...choiceTable(choices, new Map(drawn.flatMap((workload) => [...marksOf(workload)])), look),
    ...drawn.flatMap((workload) => chartOf(workload, look)),
    ...(details.showsScaling ? scalingLines(output, choices, drawn, look) : []),
    '',
    ...precisions.flatMap((tally) => wrapWords(tallyText(tally), columns)),
    ...uncheckedLines(choices, look),
    ...(missing === '' ? [] : wrapHanging(`no measurement of ${missing}`, columns, 2).map(style.warn)),
  ];
}

const MAX_LISTED = 5;

export const FITS = '✓';

/** @param marks signs in front of cells, by key: their letters in charts, or {@link FITS} */
export function choiceTable(measured: readonly Row[], marks: ReadonlyMap<string, string>, look: Look): string[] {
  const { style } = look;
  if (measured.length === 0)
    return [style.bad('nothing to choose from: no cell of these sweeps has a fit run with a throughput')];
  const dominated = measured.filter((one) => !isFront(one)).length;
  const about = cellColumns(measured, ({ cell }) => cell);
  const whole = (one: Row): ((text: string) => string) => (isFront(one) ? (text) => text : style.dim);
  const columns: Column<Row>[] = [
    { header: '', text: ({ key }) => marks.get(key) ?? '' },
    { header: '', text: (one) => (isFront(one) ? '*' : '') },
    ...about.columns,
    ...choiceColumns(measured),
  ];
  const styled = columns.map((column) => ({ ...column, style: whole }));
  const table = renderTable(styled, measured, look);
  const which = dominated === 0 ? 'all of them' : `${measured.length - dominated} of ${measured.length}`;
  const axes = `items/s, latency, engine and context size, accuracy${isAnyChecked(measured) ? '' : ' (not checked)'}`;
  const optimal = `* Pareto-optimal, ${which}: no other is at least as good on every axis: ${axes}`;
  const legends = [
    [...marks.values()].includes(FITS) ? `${FITS} within the limits` : '',
    measured.some(isDerived) ? DERIVED_LEGEND : '',
    overlapNote(measured.map(({ streams }) => streams)) ?? '',
    optimal,
  ];
  const below = legends.filter(Boolean).flatMap((legend) => wrapHanging(legend, look.columns, 2).map(style.dim));
  return [...table, ...captionLines(about.caption, look), ...below];
}

/** Columns of tables of choices, in the terminal and on the page. Empty columns are left out. */
export function choiceColumns(choices: readonly Row[]): Column<Row>[] {
  const costs = choices.some(({ cell }) => namedWords(cell.axisFlags).length > 0) ? COSTS : [];
  return [
    numberColumn('items/s', (one) => (one.itemsPerS === null ? '–' : derivedText(one, one.itemsPerS))),
    numberColumn('qps', (one) => derivedText(one, one.throughputQps), 7),
    numberColumn('speed-up', ({ speedUp }) => speedUpText(speedUp)),
    numberColumn('95 % interval', ({ speedUp }) => intervalText(speedUp), 8),
    numberColumn('latency speed-up', ({ speedUp }) => latencySpeedUpText(speedUp), 9),
    numberColumn('latency', ({ latencyMs, streams }) => streamMs(latencyMs, streams), 1),
    numberColumn('p99', ({ p99Ms, streams }) => streamMs(p99Ms, streams), 2),
    numberColumn('accuracy', (one) => (isAnyChecked(choices) ? accuracyText(one) : '')),
    numberColumn('engine MiB', ({ engineMib }) => amount(engineMib), 4),
    numberColumn('context MiB', ({ contextMib }) => amount(contextMib), 5),
    ...costs.map(([header, cost]) => numberColumn<Row>(header, (one) => amount(one.costs[cost]), 4.5)),
    numberColumn('of peak', ({ efficiency }) => (efficiency?.peakShare ? formatShare(efficiency.peakShare) : ''), 4.2),
    numberColumn('mJ/item', energyText, 4.4),
    numberColumn('actual precision', shareText, 3, { short: 'actual', minWidth: 10 }),
    numberColumn('runs', ({ runs }) => String(runs), 6),
  ];
}

/** If no accuracy is known, a line below the table says so. */
function isAnyChecked(choices: readonly Choice[]): boolean {
  return choices.some(({ accuracyState }) => accuracyState !== 'notChecked');
}

/** Costs are shown only where a cell has a named axis, such as `weights`, because most of these change them. */
const COSTS: readonly (readonly [header: string, cost: keyof Choice['costs']])[] = [
  ['build s', 'buildS'],
  ['load s', 'loadS'],
  ['refit ms', 'refitMs'],
  ['GPU MiB', 'memoryMib'],
];

function isFront({ dominatedBy }: Choice): boolean {
  return dominatedBy === null;
}

function marksOf(workload: readonly Choice[]): Map<string, string> {
  return new Map(workload.map(({ key }, place) => [key, MARKS[place] ?? '?']));
}

function amount(value: number | null): string {
  return value === null ? '' : formatNumber(value);
}

/** `68.3 ±0.4 %`: millijoules per item, else per query. */
function energyText({ energy }: Choice): string {
  if (energy === null) return '';
  const { intervalPercent, perItemMj, perQueryMj } = energy;
  const spread = intervalPercent === null ? '' : ` ±${formatPercent(intervalPercent, false)}`;
  return `${formatNumber(perItemMj ?? perQueryMj)}${spread}`;
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/** `fp8 62 %`: actual precision share, of the time with a profile, else of the layers. `✗` marks less than half. */
function shareText({ precision, realPrecisionShare }: Choice): string {
  if (realPrecisionShare === null || !QUANTIZED.includes(precision)) return '';
  const share = realPrecisionShare[precision] ?? 0;
  return `${share < LEAST_PRECISION_SHARE ? '✗ ' : ''}${precision} ${formatShare(share)}`;
}

function ratioText(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

function speedUpText(speedUp: Choice['speedUp']): string {
  if (speedUp === null) return '';
  return `${ratioText(speedUp.ratio)}${speedUp.verdict === 'unclear' ? '?' : ''}`;
}

/** Empty without a verdict: an interval from single runs would rest on the noise of other cells. */
function intervalText(speedUp: Choice['speedUp']): string {
  const interval = speedUp?.interval ?? null;
  if (interval === null || speedUp?.verdict === 'unclear') return '';
  return `${interval[0].toFixed(2)} … ${ratioText(interval[1])}`;
}

/** `1.52× (1.50 … 1.54×)`: of the median latency. */
function latencySpeedUpText(speedUp: Choice['speedUp']): string {
  const { latencyInterval: interval = null, latencyRatio: ratio = null, latencyVerdict: verdict } = speedUp ?? {};
  if (speedUp === null || ratio === null) return '';
  const latency = { ...speedUp, ratio, interval, verdict: verdict ?? 'unclear' };
  const range = intervalText(latency);
  return `${speedUpText(latency)}${range && ` (${range})`}`;
}

/** Items/s over latency, or over the batch. */
function chartOf(workload: readonly Row[], look: Look, isOfBatch = false): string[] {
  const marks = marksOf(workload);
  const lines = renderScatter({
    points: workload.flatMap((one) => {
      const { cell, itemsPerS: y, key, latencyMs } = one;
      const x = isOfBatch ? batchOf(cell.shapes) : latencyMs;
      const style = isFront(one) ? look.style.strong : look.style.dim;
      return x === null || y === null ? [] : [{ x, y, mark: marks.get(key) ?? '?', style }];
    }),
    height: CHART_HEIGHT,
    xLabel: isOfBatch ? 'batch' : 'median latency, ms',
    format: (value) => formatNumber(value),
    look,
  });
  const title = `${printable(workload[0]?.model ?? '')}: items/s (logarithmic scales)`;
  return lines.length === 0 ? [] : ['', truncate(title, look.columns), ...lines];
}

/** Counts of one precision against its reference. A lower precision that is slower costs accuracy for nothing. */
export function tallyText(tally: ParetoOutput['precisions'][number]): string {
  const { precision, reference, pairs, slower, faster, unclear, leastRatio, mostRatio } = tally;
  const [least, most] = [ratioText(leastRatio), ratioText(mostRatio)];
  const range = least === most ? least : `${least} to ${most}`;
  const [a, b] = [precision.toUpperCase(), reference.toUpperCase()];
  const same = pairs - slower - faster - unclear;
  const times = Math.max(same, slower, faster);
  const how = times === same ? `as fast as ${b}` : `${slower > faster ? 'slower' : 'faster'} than ${b}`;
  const said = times === 0 ? `${a} against ${b}: ` : `${a} is ${how} in ${times} of ${count(pairs, 'pair')}: `;
  const caveat = unclear === 0 ? '' : ` (${unclear} without a verdict)`;
  return `${said}${range} the throughput${caveat}`;
}

function uncheckedLines(choices: readonly Choice[], look: Look): string[] {
  const unchecked = choices.filter(({ accuracyState }) => accuracyState === 'notChecked');
  const names = new Set(unchecked.map(({ model, precision }) => printable(`${model} ${precision}`)));
  if (names.size === 0) return [];
  const text = `accuracy not checked: ${[...names].join(', ')}; see bench model accuracy --help`;
  return wrapWords(text, look.columns).map(look.style.warn);
}

type StepRow = ParetoOutput['scaling'][number] & { readonly from: Row; readonly to: Row };

/** Enough digits to distinguish neighbors. */
const DIGITS = 5;

function scalingLines({ scaling }: ParetoOutput, rows: readonly Row[], drawn: readonly Row[][], look: Look): string[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const steps = scaling.flatMap((step): StepRow[] => {
    const [from, to] = [byKey.get(step.fromKey), byKey.get(step.toKey)];
    return from === undefined || to === undefined ? [] : [{ ...step, from, to }];
  });
  if (steps.length === 0) return ['', 'no two cells differ only in their batch'];
  const { columns, caption } = cellColumns(steps, ({ from }) => from.cell);
  const tuned = ({ tunedBatch }: Row, batch: number) => `${batch}${batch === tunedBatch ? '*' : ''}`;
  const batches = ({ from, fromBatch, to, toBatch }: StepRow) => `${tuned(from, fromBatch)} → ${tuned(to, toBatch)}`;
  const items = ({ from, to }: StepRow) => [from, to].map((one) => derivedText(one, one.itemsPerS, DIGITS)).join(' → ');
  const change = ({ itemsPerSChangePercent, verdict }: StepRow) =>
    `${formatPercent(itemsPerSChangePercent)}${verdict === 'unclear' ? '?' : ''}`;
  const shown: Column<StepRow>[] = [
    ...columns.filter(({ header }) => header !== 'shape'),
    { header: 'batch', text: batches },
    numberColumn('items/s', items),
    numberColumn('per item', change),
  ];
  const legends = [
    ...(steps.some((step) => batches(step).includes('*')) ? [TUNED_LEGEND] : []),
    ...(steps.some(({ verdict }) => verdict === 'unclear') ? ['? no verdict: too few runs'] : []),
  ];
  const title = 'items/s from each batch to the next (- a sample takes longer in the larger one)';
  const below = [...captionLines(caption, look), ...legends.map(look.style.dim)];
  const charts = drawn.flatMap((workload) => chartOf(workload, look, true));
  return ['', truncate(title, look.columns), ...renderTable(shown, steps, look), ...below, ...charts];
}

const TUNED_LEGEND = '* the batch that the engine is tuned for (build.opt)';
