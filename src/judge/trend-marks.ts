import type { Environment } from '../records/environment.ts';
import type { Finding } from '../records/finding.ts';
import { environmentDifferences } from './compare/differences.ts';
import { findChangePoints } from './history/change-points.ts';
import { TELLING } from './history/settings.ts';
import type { TrendStep } from './trend.ts';

/** Something worth a mark on the time axis of a trend. */
export interface TrendMark {
  /** Place among the steps. */
  readonly step: number;
  readonly kind: 'slower' | 'faster' | 'environment' | 'baseline';
  /** What changed, or the name of the baseline; the finding that was told of a change. */
  readonly text: string;
  /** Another GPU model or TensorRT major: what follows is no continuation of the line. */
  readonly breaksLine: boolean;
}

/** Where the level of a trend changed for good. @param findings of this cell and metric */
export function changeMarks(
  steps: readonly TrendStep[],
  betterIs: 'lower' | 'higher',
  findings: readonly Finding[],
): TrendMark[] {
  const measured = steps.flatMap(({ value }, step) => (value === null ? [] : [{ step, value }]));
  const unknown = measured.map(() => null);
  const changes = findChangePoints({
    nights: measured.map(({ step }) => step),
    values: Float64Array.from(measured, ({ value }) => value),
    spread: unknown,
    count: unknown,
    clock: unknown,
  });
  return changes.map((change) => {
    const kind = change.shift > 0 === (betterIs === 'lower') ? 'slower' : 'faster';
    const percent = Math.expm1(change.shift) * 100;
    const size = `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`;
    const finding = findings.find(
      ({ direction, firstBadSweepId }) =>
        direction === kind &&
        steps.some(
          ({ sweepId }, step) => sweepId === firstBadSweepId && Math.abs(step - change.night) <= TELLING.sameNights,
        ),
    );
    const told = finding === undefined ? '' : `, finding ${finding.findingId.slice(0, 8)}: ${finding.state}`;
    return { step: change.night, kind, text: `${size}${told}`, breaksLine: false };
  });
}

/** Where the machine became another. @param environments by sweep */
export function environmentMarks(
  steps: readonly TrendStep[],
  environments: ReadonlyMap<string, Environment>,
): TrendMark[] {
  const marks: TrendMark[] = [];
  let before: Environment | null = null;
  for (const [step, { sweepId }] of steps.entries()) {
    const environment = sweepId === null ? undefined : environments.get(sweepId);
    if (environment === undefined) continue;
    const changes = before === null ? [] : environmentDifferences(before, environment);
    if (changes.length > 0) {
      const breaksLine = before !== null && isOtherMachine(before, environment);
      marks.push({ step, kind: 'environment', text: changes.join('; '), breaksLine });
    }
    before = environment;
  }
  return marks;
}

function majorOf({ tensorrt }: Environment): string | undefined {
  return tensorrt?.split('.')[0];
}

function isOtherMachine(before: Environment, after: Environment): boolean {
  return before.gpuName !== after.gpuName || majorOf(before) !== majorOf(after);
}

/** @param names of baselines by the sweep that they are pinned to */
export function baselineMarks(steps: readonly TrendStep[], names: ReadonlyMap<string, readonly string[]>): TrendMark[] {
  const seen = new Set<string>();
  return steps.flatMap(({ sweepId }, step): TrendMark[] => {
    const pinned = sweepId === null || seen.has(sweepId) ? undefined : names.get(sweepId);
    if (sweepId === null || pinned === undefined) return [];
    seen.add(sweepId);
    return [{ step, kind: 'baseline', text: pinned.join(', '), breaksLine: false }];
  });
}
