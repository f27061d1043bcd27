import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import type { ProcessResult } from '../../process/spawn.ts';
import { THIS_NODE } from '../../matrix/gate.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { markNotified, notNotified } from '../../store/sweeps/findings.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { isOfSeries } from './headline.ts';
import { notifyPrograms, type NotifySources } from './notify-programs.ts';
import type { Checked } from './output.ts';

const LIMIT_S = 30;
/** Of what the program printed: enough for its last line. */
const LOG_BYTES = 64 << 10;
const LONGEST_LINE = 200;

/**
 * Starts a program with a text as its standard input. Its failure is said on standard error and has no other effect.
 * @param argv a program and its arguments, from a matrix file or the command line
 * @returns whether it ended well
 */
export async function notify(argv: readonly string[], text: string, io: Io): Promise<boolean> {
  const [program = '', ...args] = argv;
  const isModule = program === THIS_NODE;
  const file = isModule ? process.execPath : program;
  const problem = await inTemporaryFolder('notify', async (folder) => {
    const [stdoutPath, stderrPath] = [join(folder, 'stdout.log'), join(folder, 'stderr.log')];
    const paths = { stdinPath: join(folder, 'check.json'), stdoutPath, stderrPath };
    await writeFile(paths.stdinPath, text);
    const limits = { timeoutMs: LIMIT_S * 1000, logCapBytes: LOG_BYTES };
    const result = await io.spawn({ file, args, cwd: io.cwd, env: io.env, ...paths, ...limits }, io.signal, () => {});
    return problemOf(result, () => lastLine(stderrPath) || lastLine(stdoutPath));
  });
  if (problem !== null) {
    io.err(
      `note: notify: ${printable(isModule ? (args.at(-1) ?? '') : program)}: ${problem}; what was found is as it is, and the next check tries again\n`,
    );
  }
  return problem === null;
}

function problemOf(result: ProcessResult, printed: () => string): string | null {
  if (result.startProblem !== null) return result.startProblem;
  if (result.timedOut) return `ended after ${LIMIT_S} s`;
  if (result.cancelled) return 'interrupted';
  if (result.exitCode === 0) return null;
  const how = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  const line = printed();
  return line === '' ? how : `${how}: ${printable(line)}`;
}

function lastLine(path: string): string {
  return (readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '').slice(0, LONGEST_LINE);
}

/** What was found, and where the programs come from. */
export interface News extends Omit<NotifySources, 'sweeps'> {
  readonly output: Checked;
  /** The newest sweep of each series. */
  readonly sweeps: readonly Sweep[];
}

/** Starts the programs for findings that none was started for. @param hide removes private names from what they get */
export async function notifyOfNews(
  db: StoreDatabase,
  { output, sweeps, ...sources }: News,
  hide: (output: Checked) => unknown,
  io: Io,
) {
  const news = output.findings.filter(({ direction, state }) => state === 'new' && direction === 'slower');
  const ids = news.map(({ id }) => id);
  const waiting = notNotified(db, ids);
  const fresh = news.filter(({ id }) => waiting.has(id));
  const changed = sweeps.filter((sweep) => fresh.some((finding) => isOfSeries(finding, sweep)));
  for (const { argv, sweeps: own } of await notifyPrograms(db, { ...sources, sweeps: changed }, io)) {
    if (!(await notify(argv, `${jsonText(hide(output))}\n`, io))) continue;
    const itsOwn = fresh.filter((finding) => own.some((sweep) => isOfSeries(finding, sweep)));
    const itsIds = itsOwn.map(({ id }) => id);
    markNotified(db, itsIds, io.now().toISOString());
  }
}
