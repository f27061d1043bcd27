import { shellQuote } from '../text/shell-quote.ts';

/** All that read or write a store, but those that only begin one. */
export const STORE_COMMANDS =
  'ab|ack|baseline|bisect|check|choose|compare|db|engines|export|import|layers|ls|model accuracy|noise|plan|profile|report|repro|run|serve|show|slurm|trend|why';

/** What is to be typed begins behind a backtick, a sign or an indent, and ends with a sign or its line. */
const TYPED = new RegExp(
  String.raw`(?<=${'`'}|(?:→|[:·,]) |^ {4,})bench (?:${STORE_COMMANDS})\b(?:"[^"]*"|'[^']*'|[^"'${'`'}·,;)\n\u001b])*?(?=${'`'}| ·|[,;)\u001b]| {2}|$)`,
  'gmu',
);

/** Text for people: the commands that it says to type name the store that was named. */
export function withNamedStore(text: string, db: string): string {
  return text.replace(TYPED, (command) => (command.includes(' --db ') ? command : `${command} --db ${shellQuote(db)}`));
}

/** Commands next to each other on a line that got too long each have one of their own. */
export function linesWithNamedStore(lines: readonly string[], db: string, columns: number): string[] {
  return lines.map((line) => {
    const named = withNamedStore(line, db);
    if (named === line || named.length <= columns) return named;
    return named.replaceAll(' · bench ', `\n${' '.repeat(Math.max(0, line.indexOf('bench ')))}bench `);
  });
}
