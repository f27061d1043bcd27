import type { JudgedCell, SweepVerdict } from '../../judge/gate/verdict.ts';
import { count } from '../../terminal/numbers.ts';
import { isOfSpeed } from './change-text.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';

/** What counts for the exit code. */
export interface Standing {
  /** Slower than the reference and not acknowledged, new or open. */
  readonly slower: readonly CheckedFinding[];
  readonly limits: readonly CheckedFinding[];
  readonly warnings: readonly CheckedFinding[];
  readonly faster: readonly CheckedFinding[];
  readonly acknowledged: readonly CheckedFinding[];
  /** Numbers of cells; with a value and a reference. */
  readonly compared: number;
  readonly fresh: number;
  readonly missing: number;
  readonly unclear: number;
  readonly failed: number;
}

type SeriesName = Pick<CheckedSeries, 'branch' | 'matrix' | 'provenance'>;

export function isOfSeries(finding: SeriesName, { branch, matrix, provenance }: SeriesName): boolean {
  return finding.branch === branch && finding.matrix === matrix && finding.provenance === provenance;
}

/** It is there, and nobody said that it may stay. */
export function isPresent({ state }: Pick<CheckedFinding, 'state'>): boolean {
  return state === 'new' || state === 'open';
}

/** What there is to read of a finding in the morning: the others are one line each. */
export function isShownWhole({ direction, state }: Pick<CheckedFinding, 'direction' | 'state'>): boolean {
  return state === 'new' || (state === 'open' && direction === 'slower');
}

/** What is new comes first. */
export function newFirst<Found extends Pick<CheckedFinding, 'state'>>(findings: readonly Found[]): Found[] {
  return findings.toSorted((a, b) => Number(b.state === 'new') - Number(a.state === 'new'));
}

/** Cells by the newest finding that they are in: `1 new, 2 open`. */
export function statesText(findings: readonly Pick<CheckedFinding, 'cells' | 'state'>[]): string {
  const cellsIn = (own: typeof findings): number => new Set(own.flatMap(({ cells }) => cells)).size;
  const fresh = cellsIn(findings.filter(({ state }) => state === 'new'));
  const open = cellsIn(findings) - fresh;
  return [...(fresh === 0 ? [] : [`${fresh} new`]), ...(open === 0 ? [] : [`${open} open`])].join(', ');
}

/** @param findings of one series */
export function standingOf(
  findings: readonly CheckedFinding[],
  cells: readonly Pick<JudgedCell, 'reason' | 'verdict'>[],
): Standing {
  const present = findings.filter(isPresent);
  const worse = present.filter(({ direction, isWarning }) => direction === 'slower' && !isWarning);
  return {
    slower: worse.filter(({ kind }) => kind !== 'limit'),
    limits: worse.filter(({ kind }) => kind === 'limit'),
    warnings: present.filter(
      ({ direction, isWarning, state }) => direction === 'slower' && isWarning && state === 'new',
    ),
    faster: present.filter(({ direction, state }) => direction === 'faster' && state === 'new'),
    acknowledged: findings.filter(({ direction, state }) => direction === 'slower' && state === 'acknowledged'),
    compared: cells.filter(({ reason }) => reason === null).length,
    missing: cells.filter(({ reason }) => reason === 'missing').length,
    fresh: cells.filter(({ reason }) => reason === 'new').length,
    unclear: cells.filter(({ reason, verdict }) => verdict === 'unclear' && reason === null).length,
    failed: failedCells(cells),
  };
}

/** Number of planned cells without a result. */
export function failedCells(cells: readonly Pick<JudgedCell, 'reason'>[]): number {
  return cells.filter(({ reason }) => reason === 'failed').length;
}

/** For `failOn`. */
export function foundIn(standings: readonly Standing[]) {
  const has = (sizeOf: (standing: Standing) => number): boolean => standings.some((standing) => sizeOf(standing) > 0);
  return {
    regression: has(({ slower }) => slower.length),
    new: has(({ slower }) => slower.filter(({ state }) => state === 'new').length),
    limit: has(({ limits }) => limits.length),
    failed: has(({ failed }) => failed),
    unclear: has(({ unclear }) => unclear),
    warning: has(({ warnings }) => warnings.length),
  };
}

export function verdictOf({ judgedBy }: Looked, standing: Standing): CheckedSeries['verdict'] {
  if (standing.slower.length > 0) return 'slower';
  if (standing.limits.length > 0) return 'limit';
  if (standing.failed > 0) return 'failed';
  if (standing.unclear > 0) return 'unclear';
  if (standing.warnings.length > 0) return 'warning';
  if (standing.faster.length > 0) return 'faster';
  if (judgedBy === 'first') return 'first';
  return standing.compared === 0 ? 'unclear' : 'same';
}

/** How a series was looked at. */
export interface Looked extends Pick<SweepVerdict, 'judgedBy'> {
  /** What it was compared with, besides what was last accepted. */
  readonly base: string | null;
}

/** The first line about a series: `2 cells slower: 1 new, 2 open; 1 cell faster`. */
export function headlineOf({ base, judgedBy }: Looked, standing: Standing): string {
  const { acknowledged, compared, failed, faster, fresh, limits, missing, slower, unclear, warnings } = standing;
  // Where no cell has a result and a reference, nothing is known to be slower or not.
  const isQuiet = slower.length + limits.length === 0 && compared > 0;
  const apart = [...(fresh === 0 ? [] : [`${fresh} new`]), ...(missing === 0 ? [] : [`${missing} missing`])].join(', ');
  return [
    ...(judgedBy === 'first' ? ['first sweep: nothing to compare with'] : isQuiet ? ['nothing slower'] : []),
    ...(judgedBy !== 'first' && compared === 0 && apart !== '' ? [`no cell to compare: ${apart}`] : []),
    ...bySpeed(slower, ['slower', 'worse']),
    ...(limits.length === 0 ? [] : [`${count(limits.length, 'limit')} broken`]),
    ...(failed === 0 ? [] : [`${count(failed, 'cell')} without a result`]),
    ...(unclear === 0 ? [] : [`${count(unclear, 'cell')} unclear`]),
    ...(warnings.length === 0 ? [] : [count(warnings.length, 'warning')]),
    ...bySpeed(faster, ['faster', 'better']),
    ...(acknowledged.length === 0 ? [] : [`${count(acknowledged.length, 'finding')} acknowledged`]),
    ...(base === null ? [] : [`compared with ${base}`]),
  ].join('; ');
}

/** What is no time and no throughput is counted apart: sizes, shares, accuracy. */
function bySpeed(findings: readonly CheckedFinding[], [ofSpeed, ofOthers]: readonly [string, string]): string[] {
  const [speeds, others] = [true, false].map((is) => findings.filter((finding) => isOfSpeed(finding) === is));
  return [...partOf(speeds ?? [], ofSpeed), ...partOf(others ?? [], ofOthers)];
}

function partOf(findings: readonly CheckedFinding[], word: string): string[] {
  if (findings.length === 0) return [];
  const cells = new Set(findings.flatMap((finding) => finding.cells)).size;
  return [`${count(cells, 'cell')} ${word}: ${statesText(findings)}`];
}
