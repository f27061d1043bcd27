export interface RoundScale {
  readonly low: number;
  readonly high: number;
  /** Three to five round numbers from `low` on, as texts of equal precision. They are in equally spaced rows. */
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
}

const MOST_TICKS = 5;

/**
 * The smallest scale that includes both values and has round numbers in equally spaced rows. `low` is below `high`.
 * @param rows rows of the chart, at least three
 */
export function roundScale(low: number, high: number, rows: number): RoundScale {
  const rowsOfStep = Math.max(1, Math.ceil((rows - 1) / (MOST_TICKS - 1)));
  const finest = Math.floor(Math.log10(((high - low) / (rows - 1)) * rowsOfStep));
  const candidates = [finest, finest + 1].flatMap((exponent) =>
    [1, 2, 5].map((mantissa) => ({ step: mantissa * 10 ** exponent, decimals: Math.max(0, -exponent) })),
  );
  // Rows are counted from zero, and a row whose number is a multiple of a step has a label.
  const rowOf = (value: number, step: number): number => Math.floor((value / step) * rowsOfStep + ROUNDING);
  const fitting = candidates.find(({ step }) => ((rowOf(low, step) + rows - 1) * step) / rowsOfStep >= high);
  const { step, decimals } = fitting ?? { step: high - low, decimals: 4 };
  const lowest = rowOf(low, step);
  const ticks = Array.from({ length: rows }, (_, place) => lowest + place)
    .filter((row) => row % rowsOfStep === 0)
    .map((row) => ({ value: (row / rowsOfStep) * step, text: ((row / rowsOfStep) * step).toFixed(decimals) }));
  return { low: (lowest * step) / rowsOfStep, high: ((lowest + rows - 1) * step) / rowsOfStep, ticks };
}

/** Rounding error of a quotient that should be an integer. */
const ROUNDING = 1e-9;
