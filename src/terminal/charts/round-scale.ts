export interface RoundScale {
  readonly low: number;
  readonly high: number;
  /** Round numbers from `low` on, three to five of them, as texts of equal precision: each in a row, as far apart as the next. */
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
}

const MOST_TICKS = 5;

/** Smallest scale with round numbers in equally spaced rows that holds both; `low` is below `high`. @param rows of the chart, three at least */
export function roundScale(low: number, high: number, rows: number): RoundScale {
  const rowsOfStep = Math.max(1, Math.ceil((rows - 1) / (MOST_TICKS - 1)));
  const steps = (rows - 1) / rowsOfStep;
  const finest = Math.floor(Math.log10((high - low) / steps));
  const candidates = [finest, finest + 1].flatMap((exponent) =>
    [1, 2, 5].map((mantissa) => ({ step: mantissa * 10 ** exponent, decimals: Math.max(0, -exponent) })),
  );
  const fitting = candidates.find(({ step }) => Math.floor(low / step) + steps >= high / step);
  const { step, decimals } = fitting ?? { step: high - low, decimals: 4 };
  const first = Math.floor(low / step);
  const ticks = Array.from({ length: Math.floor(steps) + 1 }, (_, place) => {
    const value = (first + place) * step;
    return { value, text: value.toFixed(decimals) };
  });
  return { low: first * step, high: (first + steps) * step, ticks };
}
