import { shellQuote } from '../text/shell-quote.ts';

/** Commands that read or write an existing store. */
export const STORE_COMMANDS =
  'ab|ack|baseline|bisect|check|choose|compare|db|engines|export|import|layers|ls|model accuracy|noise|plan|profile|report|repro|run|serve|show|slurm|trend|why';

/**
 * Matches a command to type: it follows a backtick, a sign or an indent, and ends at a sign or at the end of the line.
 */
const TYPED = new RegExp(
  String.raw`(?<=${'`'}|(?:→|[:·,]) |^ {4,})bench (?:${STORE_COMMANDS})\b(?:"[^"]*"|'[^']*'|[^"'${'`'}·,;)\n\u001b])*?(?=${'`'}| ·|[,;)\u001b]| {2}|$)`,
  'gmu',
);

/** Adds `--db` with the named store to the commands that a text tells people to type. */
export function withNamedStore(text: string, db: string): string {
  return text.replace(TYPED, (command) => (command.includes(' --db ') ? command : `${command} --db ${shellQuote(db)}`));
}
