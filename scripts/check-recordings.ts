/**
 * Checks what bench makes of a folder of trtexec recordings, seen before or not:
 *
 *     npm run check:recordings -- FOLDER
 *
 * Every log is read again by a simple reader of its own that shares no code with the parser; its numbers must be those
 * of the parser and of a store into which the folder was imported, and the other way round. Exports are compared with
 * plain `JSON.parse`. Outcomes in any `expected.tsv` must be met, and a second import must change nothing.
 *
 * One line a problem, then a summary. Ends with 0, with 1 when there are problems, with 2 when it was called wrongly.
 */
import { stat } from 'node:fs/promises';

import { printable } from '../src/text/printable.ts';
import { checkFolder } from './check-recordings/check-folder.ts';
import { problemText, summaryText } from './check-recordings/report.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const [folder] = args;
  if (folder === undefined || args.length > 1 || folder.startsWith('-')) {
    return wrongUse('usage: npm run check:recordings -- FOLDER');
  }
  const info = await stat(folder).catch(() => null);
  if (info === null) return wrongUse(`${folder}: no such folder`);
  if (!info.isDirectory()) return wrongUse(`${folder}: is no folder`);
  const report = await checkFolder(folder);
  if (report === null) return wrongUse(`${folder}: no trtexec log under this folder`);
  for (const problem of report.problems) process.stdout.write(`${problemText(problem)}\n`);
  process.stdout.write(`${summaryText(report)}\n`);
  return report.problems.length > 0 ? 1 : 0;
}

function wrongUse(text: string): number {
  process.stderr.write(`${printable(text)}\n`);
  return 2;
}
