import { nearest } from '../text/nearest.ts';
import { printable } from '../text/printable.ts';

/** Commands to suggest for names of other tools, and for words of several commands. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['blame', 'bisect'],
  ['clean', 'db prune'],
  ['diff', 'compare'],
  ['explain', 'show RUN --next'],
  ['history', 'trend'],
  ['latest', 'show latest'],
  ['list', 'ls'],
  ['log', 'ls sweeps'],
  ['pareto', 'choose'],
  ['resume', 'run --resume'],
  ['rm', 'db rm'],
  ['slo', 'choose --max-latency MS'],
  ['status', 'ls sweeps'],
]);

/** @param usages usage lines of the commands of bench by name, such as `db verify` */
export function wrongUseLine(text: string, usages: ReadonlyMap<string, string>): string {
  const [, what = text, hint = null] = /^error: (.*?)(?:\n\(Did you mean (.*)\?\))?\n*$/s.exec(text) ?? [];
  const [, unknown] = /^unknown command '(.*)'$/.exec(what) ?? [];
  const option = what === "unknown option '-v'" ? '--version' : hint;
  const meant = unknown === undefined ? (option ?? choiceMeant(what)) : commandMeant(unknown, [...usages.keys()]);
  const suggestion = meant === null ? '' : `; did you mean ${printable(meant)}?`;
  const [, crowded = ''] = /^too many arguments for '(.*?)'/.exec(what) ?? [];
  const usage = usages.get(crowded);
  const help = usage === undefined ? 'see --help' : `usage: bench ${crowded} ${usage}`;
  return `bench: ${printable(what).replace(/\.$/, '').replace(' is invalid. ', ' is invalid: ')}${suggestion} (${help})\n`;
}

function commandMeant(word: string, commands: readonly string[]): string | null {
  const named = commands.map((command): [string, string] => [command.split(' ').at(-1) ?? command, command]);
  const known = new Map([...named.toReversed(), ...MEANT].filter(([, command]) => command !== word));
  const found = nearest(word, [...known.keys()]);
  return found === null ? null : (known.get(found) ?? null);
}

function choiceMeant(what: string): string | null {
  const [, word = '', allowed = ''] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s.exec(what) ?? [];
  return word === '' ? null : nearest(word, allowed.split(', '));
}

/** Commands, and options of commands, of the previous version; a row stays for one release. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  ['noise --want', 'its table shows the change that 1, 3, 5 and 10 runs detect'],
  ['ls machines --cells', 'bench compare gpu=A gpu=B --across-gpu compares GPUs'],
  ['ls machines --metric', 'bench compare gpu=A gpu=B --metric compares machines'],
  ['report --google-benchmark', '--bmf and --csv have the same numbers'],
  ['init --yes', 'bench init never asks'],
  ['help man', '`bench help` and --help of each command document all options'],
]);

/** One line for a removed command or option; null otherwise. */
export function removedLine(argv: readonly string[]): string | null {
  const typed = argv.filter((word) => !word.startsWith('-')).join(' ');
  for (const [name, instead] of REMOVED) {
    const [command = '', option] = name.split(/ (?=--)/);
    const isGiven = option === undefined || argv.some((word) => word === option || word.startsWith(`${option}=`));
    if (!isGiven || !`${typed} `.startsWith(`${command} `)) continue;
    return `bench: ${option === undefined ? '' : `${option} of `}bench ${command} was removed: ${instead}\n`;
  }
  return null;
}
