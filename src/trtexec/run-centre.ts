/**
 * The centre of one run's samples: the mean of the part between 10 % and 60 % of the sorted logarithms, as a time.
 * Steadier than the median when iterations have two states, and blind to the slow tail.
 * @param times not empty, all positive, in any unit
 */
export function runCentre(times: Float64Array | readonly number[]): number {
  const sorted = Float64Array.from(times).toSorted();
  const low = Math.floor(sorted.length / 10);
  const high = Math.max(low + 1, Math.floor((sorted.length * 6) / 10));
  let sum = 0;
  for (let i = low; i < high; i += 1) sum += Math.log(sorted[i] ?? Number.NaN);
  return Math.exp(sum / (high - low));
}
