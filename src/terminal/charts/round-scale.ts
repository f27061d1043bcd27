export interface RoundScale {
  readonly low: number;
  readonly high: number;
  /** Round numbers from `low` to `high`, three to five of them, as texts of equal precision. */
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
}

const MOST_TICKS = 5;

/** Smallest scale of round numbers that holds both; `low` is below `high`. */
export function roundScale(low: number, high: number): RoundScale {
  const finest = Math.floor(Math.log10((high - low) / MOST_TICKS));
  const steps = [finest, finest + 1].flatMap((exponent) =>
    [1, 2, 5].map((mantissa) => ({ step: mantissa * 10 ** exponent, decimals: Math.max(0, -exponent) })),
  );
  const fitting = steps.find(({ step }) => Math.ceil(high / step) - Math.floor(low / step) < MOST_TICKS);
  const { step, decimals } = fitting ?? { step: high - low, decimals: 4 };
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, place) => {
    const value = (first + place) * step;
    return { value, text: value.toFixed(decimals) };
  });
  return { low: first * step, high: last * step, ticks };
}
