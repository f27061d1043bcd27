import { findFlag } from '../trtexec/flags/flag-table.ts';
import type { Banner } from '../trtexec/log/parsed-log.ts';

/** Beside the sections of the banner. */
const COMMAND_LINE = 'Command line';

/**
 * The flags of trtexec on the first line of a log that has no `run.json`, by name: kept with the banner, as the line
 * joins the arguments without quotes. Flags that no trtexec has are left out: they may be anything.
 */
export function commandLineSection(commandLine: string | null): Record<string, Record<string, string>> {
  const flags = (commandLine ?? '').split(/ (?=--)/).flatMap((part): [string, string][] => {
    const [, flag = '', value = ''] = /^(--\w+)(?:=(.*))?$/s.exec(part.trim()) ?? [];
    return findFlag(flag) === undefined ? [] : [[flag, value]];
  });
  return flags.length === 0 ? {} : { [COMMAND_LINE]: Object.fromEntries(flags) };
}

/** The arguments of a stored run: as `run.json` lists them, else the flags of its log's first line. */
export function statedArguments(row: {
  readonly argv: readonly string[] | null;
  readonly banner: Banner;
}): readonly string[] {
  if (row.argv !== null) return row.argv;
  const flags = Object.entries(row.banner[COMMAND_LINE] ?? {});
  return flags.map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`));
}
