interface Removed {
  /** Words of the command, as in `ls machines`. */
  readonly command: string;
  /** Where only an option of the command went. */
  readonly option?: string;
  /** What to do now. */
  readonly instead: string;
}

/** Commands and options that the version before had; a row stays for one release. */
const REMOVED: readonly Removed[] = [
  { command: 'noise', option: '--want', instead: 'its table shows the change that 1, 3, 5 and 10 runs show' },
  { command: 'ls machines', option: '--cells', instead: 'bench compare gpu=A gpu=B --across-gpu compares GPUs' },
  { command: 'ls machines', option: '--metric', instead: 'bench compare gpu=A gpu=B --metric compares machines' },
  { command: 'report', option: '--google-benchmark', instead: '--bmf and --csv have the same numbers' },
  { command: 'init', option: '--yes', instead: 'bench init never asks' },
  { command: 'help man', instead: '`bench help` and --help of each command say all of it' },
];

/** One line for a command or an option that is gone; null for all else. */
export function removedLine(argv: readonly string[]): string | null {
  const typed = argv.filter((word) => !word.startsWith('-')).join(' ');
  const found = REMOVED.find(
    ({ command, option }) =>
      `${typed} `.startsWith(`${command} `) &&
      (option === undefined || argv.some((word) => word === option || word.startsWith(`${option}=`))),
  );
  if (found === undefined) return null;
  const what = found.option === undefined ? `bench ${found.command}` : `${found.option} of bench ${found.command}`;
  return `bench: ${what} is gone: ${found.instead}\n`;
}
