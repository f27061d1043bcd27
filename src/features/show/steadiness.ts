import type { KeyedCell } from '../../records/cell.ts';
import { type KnownNoise, LEAST_PERCENT, runsThatShow } from '../../judge/detectable-effect.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import type { RunQueries } from '../../selection/query-times.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { driftOf } from '../../trtexec/fitness/find-flags.ts';
import { noiseOfCell } from '../noise/index.ts';
import type { ShownRun } from './output.ts';

const LEAST_QUERIES = 8;
/** Standard error of a median over that of a mean, for normal values. */
const MEDIAN_ERROR = Math.sqrt(Math.PI / 2);

/** How steady the queries of a run are, and the number of such runs that shows a change; null for too few queries. */
export function steadinessOf(
  db: StoreDatabase,
  sweepId: string,
  cell: KeyedCell | null,
  { metric, values }: RunQueries,
  showsPercent: number,
): ShownRun['steadiness'] {
  if (values.length < LEAST_QUERIES) return null;
  const { cv, lag1, effective } = serialStatistics(values);
  const [sweep] = sweepsById(db, [sweepId]);
  const known = cell === null || sweep === undefined ? null : noiseOfCell(db, cell, metric, sweep);
  const isKnown = known !== null && known.run !== null;
  // A lower bound: runs differ by more than the error of their medians.
  const least = { run: (MEDIAN_ERROR * cv) / Math.sqrt(effective), sweep: null, degrees: Math.max(1, effective - 1) };
  const noise: KnownNoise = isKnown ? known : least;
  return {
    metric,
    queries: values.length,
    cvPercent: cv * 100,
    driftPercent: driftOf(Float64Array.from(values)).change * 100,
    autocorrelation: lag1,
    effectiveQueries: effective,
    showsPercent,
    repeats: runsThatShow(noise, showsPercent),
    noiseFrom: isKnown ? 'runs' : 'queries',
    runPercent: percentOfLog(noise.run ?? 0),
    sweepPercent: noise.sweep === null ? null : percentOfLog(noise.sweep),
  };
}

export function steadinessLines(found: ShownRun['steadiness'], { columns }: Look): string[] {
  if (found === null) return [];
  const { noiseFrom, repeats, runPercent, showsPercent, sweepPercent } = found;
  const independent = Math.round(found.effectiveQueries);
  const steady = `CV ${formatNumber(found.cvPercent)} %, drift ${formatPercent(found.driftPercent)} from the first to the last quarter, autocorrelation ${formatNumber(found.autocorrelation)}: ${count(found.queries, 'query', 'queries')} say as much as ${independent} independent ${independent === 1 ? 'one' : 'ones'}`;
  const runs =
    repeats === null
      ? 'no number of runs shows'
      : `${count(repeats, 'run')} a side ${repeats === 1 ? 'shows' : 'show'}`;
  const sweeps = sweepPercent === null ? '' : ` and ${formatNumber(sweepPercent, 2)} % of a sweep`;
  const why =
    showsPercent <= LEAST_PERCENT
      ? `as changes up to ${LEAST_PERCENT} % are never reported`
      : noiseFrom === 'runs'
        ? `by the noise of its cell, ${formatNumber(runPercent, 2)} % of a run${sweeps}`
        : 'by its queries alone: one run does not know the noise between runs';
  const least = noiseFrom === 'queries' && repeats !== null ? 'at least ' : '';
  return [`  steady   ${steady}`, `  repeats  ${least}${runs} ${showsPercent} %, ${why}`].flatMap((line) =>
    wrapHanging(line, columns, 11),
  );
}

/** Largest lag with a computed correlation; a run has tens of thousands of queries. */
const MOST_LAG = 1000;

/**
 * @returns `cv`: standard deviation (n - 1) over the mean; `lag1`: autocorrelation; `effective`: number of independent
 * values with the same information about the mean
 */
export function serialStatistics(values: readonly number[]) {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const centred = Float64Array.from(values, (value) => value - mean);
  const squares = lagged(centred, 0);
  const correlation = (lag: number): number => (squares === 0 ? 0 : lagged(centred, lag) / squares);
  // Initial positive sequence: sums pairs of lags until a pair is noise (Geyer 1992).
  let sum = 0;
  for (let lag = 0; lag < Math.min(n - 1, MOST_LAG); lag += 2) {
    const pair = correlation(lag) + correlation(lag + 1);
    if (pair <= 0) break;
    sum += pair;
  }
  return {
    cv: Math.sqrt(squares / (n - 1)) / mean,
    lag1: correlation(1),
    effective: Math.min(n, n / Math.max(1, 2 * sum - 1)),
  };
}

function lagged(centred: Float64Array, lag: number): number {
  let sum = 0;
  for (let place = lag; place < centred.length; place += 1) sum += (centred[place] ?? 0) * (centred[place - lag] ?? 0);
  return sum;
}
