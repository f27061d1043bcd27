/**
 * Checked index. It accepts one kind of array only, because other kinds slow down the innermost loops of the detector
 * by a third.
 * @throws RangeError when out of bounds
 */
export function at(values: Float64Array, place: number): number {
  const value = values[place];
  return value === undefined ? missing(values.length, place) : value;
}

/** A separate function, so that `at` stays small enough to be inlined. */
function missing(length: number, place: number): never {
  throw new RangeError(`no number at ${place} of ${length}`);
}
