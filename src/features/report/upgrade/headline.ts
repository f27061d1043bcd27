import type { Environment } from '../../../records/environment.ts';
import { type MetricId, metricOf } from '../../../records/metric.ts';
import type { CommonShift, GeometricMean } from '../../../records/verdict.ts';
import { count } from '../../../terminal/numbers.ts';
import { type Comparison, shiftSize } from '../../compare/index.ts';
import type { Tallies } from './output.ts';

/** What an upgrade changes, by which it is named; the first that differs. */
const NAMED = [
  ['tensorrt', 'TensorRT'],
  ['driver', 'driver'],
  ['container', 'container'],
  ['cuda', 'CUDA'],
] as const satisfies readonly (readonly [keyof Environment, string])[];

/** `TensorRT 10.16.0 against 10.6.0: geometric mean 1.04× faster (1.03–1.05), 58 of 72 cells faster, 6 slower, …` */
export function headlineOf(
  counts: Tallies,
  means: Comparison['geometricMeans'],
  base: Environment | null,
  head: Environment | null,
  refs: Pick<Comparison, 'baseRef' | 'headRef'>,
): string {
  const { accuracyMoved, buildFailed, cells, faster, incomparable, missing, runFailed, slower } = counts;
  const most = means.filter(({ by }) => by === 'all').toSorted((a, b) => b.cells - a.cells)[0];
  const parts = [
    most !== undefined
      ? `geometric mean ${timesText(most, most.metric)}`
      : `no cell ${incomparable > 0 ? 'can be compared' : 'has a result on both sides'}`,
    `${faster} of ${count(cells, 'cell')} faster`,
    `${slower} slower`,
    ...(buildFailed === 0 ? [] : [`${buildFailed} ${buildFailed === 1 ? 'fails' : 'fail'} to build`]),
    ...(runFailed === 0 ? [] : [`${runFailed} without a result`]),
    ...(missing === 0 ? [] : [`${missing} on one side only`]),
    ...(accuracyMoved === 0 ? [] : [`accuracy moved in ${accuracyMoved}`]),
  ];
  return `${sidesText(base, head, refs)}: ${parts.join(', ')}`;
}

function sidesText(
  base: Environment | null,
  head: Environment | null,
  { baseRef, headRef }: Pick<Comparison, 'baseRef' | 'headRef'>,
): string {
  for (const [field, name] of NAMED) {
    const [was, is] = [base?.[field] ?? null, head?.[field] ?? null];
    if (was !== null && is !== null && was !== is) return `${name} ${is} against ${was}`;
  }
  return `${headRef} against ${baseRef}`;
}

/** `1.04× faster (1.03–1.05)`; `1.00× as fast (0.99–1.01)` where the interval holds both. */
export function timesText({ changePercent, ciPercent }: GeometricMean, metric: MetricId): string {
  const sign = metricOf(metric).betterIs === 'lower' ? -1 : 1;
  const speeds = [changePercent, ...(ciPercent ?? [])].map((percent) => (1 + percent / 100) ** sign);
  const word = speeds.every((speed) => speed > 1)
    ? 'faster'
    : speeds.every((speed) => speed < 1)
      ? 'slower'
      : 'as fast';
  const [mean, ...bounds] = speeds.map((speed) => (word === 'slower' ? 1 / speed : speed));
  const range = bounds.toSorted((a, b) => a - b).map((bound) => bound.toFixed(2));
  return `${mean?.toFixed(2) ?? ''}× ${word}${range.length === 0 ? '' : ` (${range.join('–')})`}`;
}

/** What speaks against the move. */
export function againstMoving(counts: Tallies, shift: CommonShift | null): string[] {
  const { accuracyFell, buildFailed, runFailed, slower } = counts;
  return [
    ...(buildFailed === 0 ? [] : [`${count(buildFailed, 'cell')} that built before: no engine`]),
    ...(runFailed === 0 ? [] : [`${count(runFailed, 'cell')} that ran before: no result`]),
    ...(accuracyFell === 0 ? [] : [`accuracy fell in ${count(accuracyFell, 'cell')}`]),
    ...(slower === 0 ? [] : [count(slower, 'slower cell')]),
    ...(shift?.verdict === 'slower' ? [shiftSize(shift)] : []),
  ];
}

export function notKnown(counts: Tallies): string[] {
  const { accuracyUnknown, incomparable, layersUnknown, missing, modelChanged, unclear } = counts;
  return [
    ...(unclear === 0 ? [] : [count(unclear, 'unclear cell')]),
    ...(incomparable === 0 ? [] : [`${count(incomparable, 'cell')} that cannot be compared`]),
    ...(missing === 0 ? [] : [`${count(missing, 'cell')} on one side only`]),
    ...(modelChanged === 0 ? [] : [`what the other model file does in ${count(modelChanged, 'cell')}`]),
    ...(accuracyUnknown === 0 ? [] : [`accuracy of ${count(accuracyUnknown, 'cell')}: see bench model accuracy`]),
    ...(layersUnknown === 0 ? [] : [`layers of ${count(layersUnknown, 'cell')}: see bench run --profile`]),
  ];
}
