interface Removed {
  /** Words of the command, such as `ls machines`. */
  readonly command: string;
  /** Set if only an option of the command was removed. */
  readonly option?: string;
  /** What to use now. */
  readonly instead: string;
}

/** Commands and options of the previous version; a row stays for one release. */
const REMOVED: readonly Removed[] = [
  { command: 'noise', option: '--want', instead: 'its table shows the change that 1, 3, 5 and 10 runs show' },
  { command: 'ls machines', option: '--cells', instead: 'bench compare gpu=A gpu=B --across-gpu compares GPUs' },
  { command: 'ls machines', option: '--metric', instead: 'bench compare gpu=A gpu=B --metric compares machines' },
  { command: 'report', option: '--google-benchmark', instead: '--bmf and --csv have the same numbers' },
  { command: 'init', option: '--yes', instead: 'bench init never asks' },
  { command: 'help man', instead: '`bench help` and --help of each command say all of it' },
];

/** One line for a removed command or option; null otherwise. */
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
