import type { SweepVerdict } from '../../judge/gate/verdict.ts';
import { ALERTING } from '../../judge/history/settings.ts';
import { count } from '../../terminal/numbers.ts';
import { isOfSpeed } from './change-text.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';

/** What counts for the exit code. */
export interface Standing {
  readonly regressions: readonly CheckedFinding[];
  readonly limits: readonly CheckedFinding[];
  readonly warnings: readonly CheckedFinding[];
  readonly suspected: readonly CheckedFinding[];
  /** Reported before. */
  readonly open: readonly CheckedFinding[];
  readonly faster: readonly CheckedFinding[];
  readonly acknowledged: readonly CheckedFinding[];
  readonly failed: number;
}

type SeriesName = Pick<CheckedSeries, 'branch' | 'matrix' | 'provenance'>;

export function isOfSeries(finding: SeriesName, { branch, matrix, provenance }: SeriesName): boolean {
  return finding.branch === branch && finding.matrix === matrix && finding.provenance === provenance;
}

/** It is there, and nobody said that it may stay. */
export function isPresent({ acknowledged, state }: Pick<CheckedFinding, 'acknowledged' | 'state'>): boolean {
  return acknowledged === null && (state === 'confirmed' || state === 'open');
}

/** What there is to read of a finding in the morning: the others are one line each. */
export function isShownWhole(finding: CheckedFinding): boolean {
  return finding.state === 'suspected' || (isPresent(finding) && (finding.isNew || finding.kind === 'limit'));
}

/** @param findings of one series; @param failed number of cells without a result */
export function standingOf(findings: readonly CheckedFinding[], failed: number): Standing {
  const lasting = findings.filter(({ state }) => state === 'confirmed' || state === 'open');
  const acknowledged = lasting.filter((finding) => finding.acknowledged !== null);
  const free = lasting.filter((finding) => finding.acknowledged === null);
  const slower = free.filter(({ direction, isWarning }) => direction === 'slower' && !isWarning);
  const limits = slower.filter(({ kind }) => kind === 'limit');
  const changes = slower.filter(({ kind }) => kind !== 'limit');
  return {
    regressions: changes.filter(({ isNew }) => isNew),
    limits,
    warnings: free.filter(({ direction, isNew, isWarning }) => direction === 'slower' && isWarning && isNew),
    suspected: findings.filter(
      (one) => one.state === 'suspected' && one.direction === 'slower' && one.acknowledged === null,
    ),
    open: changes.filter(({ isNew }) => !isNew),
    faster: free.filter(({ direction, isNew }) => direction === 'faster' && isNew),
    acknowledged,
    failed,
  };
}

/** For `failOn`. */
export function foundIn(standings: readonly Standing[]) {
  const has = (sizeOf: (standing: Standing) => number): boolean => standings.some((standing) => sizeOf(standing) > 0);
  return {
    regression: has(({ regressions }) => regressions.length),
    limit: has(({ limits }) => limits.length),
    failed: has(({ failed }) => failed),
    suspected: has(({ suspected }) => suspected.length),
    open: has(({ open }) => open.length),
    warning: has(({ warnings }) => warnings.length),
  };
}

export function verdictOf({ judgedBy }: Looked, standing: Standing): CheckedSeries['verdict'] {
  if (standing.regressions.length > 0) return 'slower';
  if (standing.limits.length > 0) return 'limit';
  if (standing.failed > 0) return 'failed';
  if (standing.suspected.length > 0) return 'suspected';
  if (standing.open.length > 0) return 'open';
  if (standing.warnings.length > 0) return 'warning';
  if (standing.faster.length > 0) return 'faster';
  return judgedBy === 'first' ? 'first' : 'quiet';
}

/** How a series was looked at. */
export interface Looked extends Pick<SweepVerdict, 'judgedBy'> {
  /** Number of its sweeps that count. */
  readonly sweeps: number;
  readonly hasPairs: boolean;
  readonly baseBranch: string | null;
}

/** The first line about a series. */
export function headlineOf(looked: Looked, standing: Standing): string {
  const parts = partsOf(looked, standing);
  switch (looked.judgedBy) {
    case 'first':
      return ['first sweep: nothing to compare with', ...parts].join('; ');
    case 'previousSweep': {
      const what = parts.length === 0 ? 'nothing slower' : parts.join(', ');
      return `${looked.sweeps} of ${ALERTING.firstNight} sweeps: compared with the previous sweep: ${what}`;
    }
    case 'history':
      return parts.length === 0 ? 'nothing new' : parts.join(', ');
  }
}

function partsOf({ baseBranch, hasPairs }: Looked, standing: Standing): string[] {
  const { regressions, limits, warnings, suspected, open, faster, acknowledged, failed } = standing;
  const isAny = regressions.length + limits.length + warnings.length + suspected.length + faster.length + failed > 0;
  return [
    ...slowerParts(regressions),
    ...(limits.length === 0 ? [] : [`${count(limits.length, 'limit')} broken`]),
    ...(suspected.length === 0
      ? []
      : [`${count(suspected.length, 'suspect')} not confirmed${hasPairs ? whyNotPaired(suspected) : ''}`]),
    ...bySpeed(faster, ['faster', 'better']),
    ...(warnings.length === 0 ? [] : [count(warnings.length, 'warning')]),
    ...(failed === 0 ? [] : [`${failed} without a result`]),
    ...(open.length === 0 ? [] : [`${isAny ? '' : 'nothing new, '}${cellsIn(open)} still slower`]),
    ...(acknowledged.length === 0 ? [] : [`${count(acknowledged.length, 'acknowledged finding')}`]),
    ...(baseBranch === null ? [] : [`judged against ${baseBranch}`]),
  ];
}

function whyNotPaired(suspected: readonly CheckedFinding[]): string {
  return suspected.every(({ pairs }) => pairs?.outcome === 'notComparable') ? ': no pairs to compare' : ': budget';
}

/** `2 slower`; what is no cell's own slowness is named. */
function slowerParts(regressions: readonly CheckedFinding[]): string[] {
  const ofEnvironment = regressions.filter(({ kind }) => kind === 'environment');
  const changes = regressions.filter(({ kind }) => kind !== 'environment');
  return [
    ...bySpeed(changes, ['slower', 'worse']),
    ...(ofEnvironment.length === 0 ? [] : [`${cellsIn(ofEnvironment)} slower by the environment`]),
  ];
}

/** What is no time and no throughput is counted apart: sizes, shares, accuracy. */
function bySpeed(findings: readonly CheckedFinding[], [ofSpeed, ofOthers]: readonly [string, string]): string[] {
  const others = findings.filter((finding) => !isOfSpeed(finding));
  const speeds = findings.filter(isOfSpeed);
  return [
    ...(speeds.length === 0 ? [] : [`${cellsIn(speeds)} ${ofSpeed}`]),
    ...(others.length === 0 ? [] : [`${cellsIn(others)} ${ofOthers}`]),
  ];
}

function cellsIn(findings: readonly CheckedFinding[]): number {
  return new Set(findings.flatMap(({ cells }) => cells)).size;
}
