import { PLACEHOLDERS } from '../../records/plan.ts';
import type { Reproduction, ReproStart } from './reproduction.ts';
import {
  argumentLines,
  clockLines,
  environmentLines,
  HELPERS,
  scriptText,
  settingLines,
  titleLines,
} from './script.ts';
import { defaultOf, scriptQuote } from '../../text/shell-quote.ts';

const RUN_FOLDER = 'repro-run';
/** A variable that no matrix is likely to set. */
const FOLDER = 'bench_repro_folder';

/** A POSIX shell script that starts another harness as bench did. No hash is checked: none is known. */
export function harnessScript(repro: Reproduction, start: ReproStart): string {
  const { argv, cwd, env, withheld } = start;
  const [program = ''] = argv;
  const inner = [
    ...withheld.map(
      (name) =>
        `[ "\${${name}+set}" = set ] || say ${scriptQuote(`note: the matrix sets ${name}; its value is not written here`)}`,
    ),
    ...settingLines({ ...env, ...repro.axisEnv }),
    `BENCH_RUN_FOLDER=$${FOLDER}`,
    'export BENCH_RUN_FOLDER',
    `command -v ${scriptQuote(program)} >/dev/null 2>&1 || die 3 ${scriptQuote(`${program}: no such program here`)}`,
    ...argumentLines(argv.map(quoted)),
  ];
  return scriptText([
    [
      ...titleLines(repro),
      '# It needs the program that measures, and what that needs. What can be set from outside:',
      `#   OUT             the folder for its files (default: ${RUN_FOLDER} in the current folder)`,
      '#   WORKPLACE       where it is started (default: where bench started it)',
      '#   LOCK_CLOCKS=1   the clocks are locked as they were (needs root); GPU chooses the card',
    ],
    HELPERS,
    [
      defaultOf('OUT', RUN_FOLDER),
      'mkdir -p -- "$OUT"',
      `${FOLDER}=$(cd -- "$OUT" && pwd)`,
      cwd === null ? `[ -n "\${WORKPLACE-}" ] || WORKPLACE=$${FOLDER}` : defaultOf('WORKPLACE', cwd),
      `cd -- "$WORKPLACE" || die 2 'no such folder: name the one to start in, WORKPLACE=/path'`,
    ],
    environmentLines(repro),
    clockLines(repro.clockPolicy),
    // Variables of the matrix are for the program alone.
    ['(', ...inner.map((line) => `  ${line}`), ')'],
  ]);
}

/** The folder of the run, wherever it is in an argument, is that of this run. */
function quoted(argument: string): string {
  const parts = argument.split(PLACEHOLDERS.runFolder);
  if (parts.length === 1) return scriptQuote(argument);
  return parts.map((part) => (part === '' ? '' : scriptQuote(part))).join(`"$${FOLDER}"`);
}
