/** How the values of made inputs are spread. */
export const DISTRIBUTIONS = ['uniform', 'normal', 'ones', 'zeros'] as const;

export type Distribution = (typeof DISTRIBUTIONS)[number];

/** Whole numbers from the first to the last, both included. */
export type IntegerRange = readonly [number, number];

/** What the bytes of made inputs follow from; the same gives the same. */
export interface InputRecipe {
  readonly distribution: Distribution;
  readonly seed: number;
  /** Null: as trtexec itself takes them. */
  readonly integers: IntegerRange | null;
}

/** An input that values are made for. */
export interface WantedInput {
  readonly name: string;
  readonly elementType: string;
  readonly shape: readonly number[];
}

export interface MadeInput extends WantedInput {
  /** Its name in the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The file beside them that says how they were made. */
export const INPUTS_MANIFEST = 'inputs.json';
