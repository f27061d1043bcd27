/** Correlations beyond this lag are not looked at: a run has tens of thousands of queries. */
const MOST_LAG = 1000;

/** @returns `cv`: standard deviation (n - 1) over the mean; `lag1`: autocorrelation; `effective`: independent values that say as much of the mean */
export function serialStatistics(values: readonly number[]) {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const centred = Float64Array.from(values, (value) => value - mean);
  const squares = lagged(centred, 0);
  const correlation = (lag: number): number => (squares === 0 ? 0 : lagged(centred, lag) / squares);
  // Initial positive sequence: pairs of lags are summed until a pair is noise (Geyer 1992).
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
