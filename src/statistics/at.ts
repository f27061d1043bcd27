/**
 * The number at a place that exists. For one kind of array only: the innermost loops of the history detector take a
 * third longer where it has met others.
 * @throws RangeError where there is none: the calling loop is wrong
 */
export function at(values: Float64Array, place: number): number {
  const value = values[place];
  return value === undefined ? missing(values.length, place) : value;
}

/** Apart from `at`, which stays small enough to be inlined. */
function missing(length: number, place: number): never {
  throw new RangeError(`no number at ${place} of ${length}`);
}
