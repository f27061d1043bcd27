import picocolors from 'picocolors';

export interface Look {
  readonly columns: number;
  readonly style: Style;
  /** True for a terminal without Unicode; charts then consist of ASCII. */
  readonly isAscii: boolean;
}

type StyleName = 'bad' | 'good' | 'warn' | 'strong' | 'dim' | 'accent';

export type Style = Readonly<Record<StyleName, (text: string) => string>>;

export function plain(text: string): string {
  return text;
}

/** @param columns a function if the width may change */
export function makeLook(columns: number | (() => number), colour: boolean, isAscii: boolean = false): Look {
  const colours = picocolors.createColors(colour);
  return {
    get columns() {
      return typeof columns === 'number' ? columns : columns();
    },
    isAscii,
    style: {
      bad: colours.red,
      good: colours.green,
      warn: colours.yellow,
      strong: colours.bold,
      dim: colours.dim,
      accent: colours.cyan,
    },
  };
}
