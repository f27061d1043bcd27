/** A command line as data: help, manual and completion are made from it. */
export interface CommandInfo {
  /** All of its words: `bench baseline set`. */
  readonly path: string;
  readonly name: string;
  /** The heading under which `bench help` lists it. */
  readonly group: string;
  readonly description: string;
  /** What follows its name: `[options] <name> [ref]`. */
  readonly usage: string;
  readonly arguments: readonly ArgumentInfo[];
  readonly options: readonly OptionInfo[];
  readonly commands: readonly CommandInfo[];
  /** Names of what it and its commands print with `--json`. */
  readonly outputs: readonly string[];
  /** Command lines, some with a comment behind them. */
  readonly examples: readonly string[];
}

export interface ArgumentInfo {
  readonly name: string;
  readonly isVariadic: boolean;
  readonly choices: readonly string[];
}

export interface OptionInfo {
  /** `-V, --version`, `--last <n>`. */
  readonly flags: string;
  /** `--last`. */
  readonly name: string;
  readonly description: string;
  readonly takesValue: 'no' | 'maybe' | 'yes';
  readonly isVariadic: boolean;
  readonly choices: readonly string[];
  /** As it is shown; null when there is none. */
  readonly defaultText: string | null;
}
