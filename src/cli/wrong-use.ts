import { nearest } from '../text/nearest.ts';
import { printable } from '../text/printable.ts';

/** Commands to suggest for names of other tools, for former names, and for words that belong to another command. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['accuracy', 'model accuracy'],
  ['attach', 'show RUN --attach FILE'],
  ['baselines', 'ls baselines'],
  ['blame', 'bisect'],
  ['cancel', 'slurm cancel'],
  ['cells', 'ls cells'],
  ['clean', 'db prune'],
  ['collect', 'slurm collect'],
  ['diff', 'compare'],
  ['explain', 'show RUN --next'],
  ['findings', 'ls findings'],
  ['gc', 'engines gc'],
  ['history', 'trend'],
  ['inspect', 'model inspect'],
  ['latest', 'show latest'],
  ['list', 'ls'],
  ['log', 'ls sweeps'],
  ['logs', 'ls sweeps'],
  ['make-dataset', 'model make-dataset'],
  ['make-inputs', 'model make-inputs'],
  ['merge', 'db merge'],
  ['pareto', 'choose'],
  ['prune', 'db prune'],
  ['quantize', 'model quantize'],
  ['remove', 'db rm'],
  ['resume', 'run --resume'],
  ['rm', 'db rm'],
  ['runs', 'ls sweeps'],
  ['slo', 'choose --max-latency MS'],
  ['status', 'ls sweeps'],
  ['sweeps', 'ls sweeps'],
  ['test', 'run'],
  ['vacuum', 'db prune'],
  ['verify', 'db verify'],
  ['version', '--version'],
]);

/** @param usages usage lines of the commands of bench, by name */
export function wrongUseLine(text: string, usages: ReadonlyMap<string, string>): string {
  const commands = [...usages.keys()];
  const [, what = text, hint] = /^error: (.*?)(?:\n\(Did you mean (.*)\?\))?\n*$/s.exec(text) ?? [];
  const [, unknown] = /^unknown command '(.*)'$/.exec(what) ?? [];
  const meant =
    unknown === undefined ? (optionMeant(what) ?? hint ?? choiceMeant(what)) : commandMeant(unknown, commands, hint);
  const suggestion = meant === null ? '' : `; did you mean ${printable(meant)}?`;
  const [, crowded = ''] = /^too many arguments for '(.*?)'/.exec(what) ?? [];
  const usage = usages.get(crowded);
  const help = usage === undefined ? '--help shows what there is' : `usage: bench ${crowded} ${usage}`;
  return `bench: ${printable(what).replace(/\.$/, '').replace(' is invalid. ', ' is invalid: ')}${suggestion} (${help})\n`;
}

/** @param hint suggestions of commander, which include the subcommands of a group and are too many */
function commandMeant(word: string, commands: readonly string[], hint: string | undefined): string | null {
  const others = [...commands, ...(hint?.split(', ') ?? [])].filter((command) => command !== word);
  const found = nearest(word, [...MEANT.keys(), ...others]);
  return found === null ? null : (MEANT.get(found) ?? found);
}

function optionMeant(what: string): string | null {
  return what === "unknown option '-v'" ? '--version' : null;
}

/** The allowed choice nearest to the one typed. */
function choiceMeant(what: string): string | null {
  const [, word = '', allowed = ''] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s.exec(what) ?? [];
  return word === '' ? null : nearest(word, allowed.split(', '));
}
