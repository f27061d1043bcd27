/** Mean of the logs of positive values: log of the geometric mean. NaN for none. */
export function meanLog(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + Math.log(value), 0) / values.length;
}

/** A difference of logarithms as a change in percent. */
export function percentOfLog(difference: number): number {
  return Math.expm1(difference) * 100;
}
