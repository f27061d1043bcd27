/**
 * Checked index. For one kind of array only: the detector's innermost loops take a third longer if it meets others.
 * @throws RangeError when out of bounds
 */
export function at(values: Float64Array, place: number): number {
  const value = values[place];
  return value === undefined ? missing(values.length, place) : value;
}

/** Separate, so that `at` stays small enough to be inlined. */
function missing(length: number, place: number): never {
  throw new RangeError(`no number at ${place} of ${length}`);
}
