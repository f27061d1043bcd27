/** Numbers of one column as integers: the n-th value is `integers[n] / 10 ** decimals`. */
export interface NumberColumn {
  readonly decimals: number;
  readonly integers: readonly (number | null)[];
}

/** More digits than a chart or a table shows. */
const DIGITS = 6;
const MOST_DECIMALS = 12;

/** Decimals that keep six significant digits of the largest of some values. */
export function decimalsFor(values: readonly (number | null)[]): number {
  const largest = values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
  if (largest === 0) return 0;
  const decimals = DIGITS - 1 - Math.floor(Math.log10(largest));
  return Math.max(0, Math.min(MOST_DECIMALS, decimals));
}

export function numberColumn(values: readonly (number | null)[], decimals = decimalsFor(values)): NumberColumn {
  const scale = 10 ** decimals;
  return { decimals, integers: values.map((value) => (value === null ? null : Math.round(value * scale))) };
}

export function columnValues({ decimals, integers }: NumberColumn): (number | null)[] {
  const scale = 10 ** decimals;
  return integers.map((integer) => (integer === null ? null : integer / scale));
}

/** What hardly changes along a column: how often, what, how often, what. */
export type RunLengths = readonly (number | null)[];

export function runLengths(values: readonly (number | null)[]): RunLengths {
  const lengths: (number | null)[] = [];
  let times = 0;
  for (const [place, value] of values.entries()) {
    times += 1;
    if (place + 1 < values.length && values[place + 1] === value) continue;
    lengths.push(times, value);
    times = 0;
  }
  return lengths;
}

export function fromRunLengths(lengths: RunLengths): (number | null)[] {
  const values: (number | null)[] = [];
  for (let place = 0; place < lengths.length; place += 2) {
    const times = lengths[place] ?? 0;
    for (let time = 0; time < times; time += 1) values.push(lengths[place + 1] ?? null);
  }
  return values;
}

/** Texts that repeat, once each. */
export class TextTable {
  readonly texts: string[] = [];
  private readonly places = new Map<string, number>();

  placeOf(text: string): number {
    const known = this.places.get(text);
    if (known !== undefined) return known;
    this.places.set(text, this.texts.length);
    this.texts.push(text);
    return this.texts.length - 1;
  }
}
