import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { BenchError } from '../../errors.ts';
import { THIS_NODE } from '../../matrix/gate.ts';
import type { Matrix } from '../../matrix/matrix.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { matrixFileOf } from '../../store/sweeps/sweeps.ts';
import { markNotified, notNotified } from '../../store/sweeps/findings.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { matrixOfSweep, placesOf } from '../plan/index.ts';
import { isOfSeries } from './checked.ts';
import type { Checked } from './output.ts';

const LIMIT_S = 30;
/** Size of the kept output of the program; enough for its last line. */
const LOG_BYTES = 64 << 10;
const LONGEST_LINE = 200;

/** Starts a program with a text as its standard input. */
export async function startProgram(argv: readonly string[], text: string, io: Io): Promise<boolean> {
  const [program = '', ...args] = argv;
  const isModule = program === THIS_NODE;
  const problem = await inTemporaryFolder('notify', async (folder) => {
    const [stdoutPath, stderrPath] = [join(folder, 'stdout.log'), join(folder, 'stderr.log')];
    const paths = { stdinPath: join(folder, 'check.json'), stdoutPath, stderrPath };
    await writeFile(paths.stdinPath, text);
    const limits = { timeoutMs: LIMIT_S * 1000, logCapBytes: LOG_BYTES };
    const invocation = { file: isModule ? process.execPath : program, args, cwd: io.cwd, env: io.env };
    const result = await io.spawn({ ...invocation, ...paths, ...limits }, io.signal, () => {});
    const { cancelled, exitCode, signal, startProblem, timedOut } = result;
    if (startProblem !== null) return startProblem;
    if (timedOut) return `bench stopped it after ${LIMIT_S} s`;
    if (cancelled) return 'interrupted';
    if (exitCode === 0) return null;
    const printed = [stderrPath, stdoutPath].map(
      (path) => readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '',
    );
    const how = signal === null ? `exit code ${exitCode}` : `ended by ${signal}`;
    return [how, ...printed.filter((line) => line !== '').slice(0, 1)].join(': ').slice(0, LONGEST_LINE);
  });
  if (problem === null) return true;
  const name = printable(isModule ? (args.at(-1) ?? '') : program);
  const then = 'the findings are stored, and the next check tries again';
  io.err(`note: notify: ${name}: ${printable(problem)}; ${then}\n`);
  return false;
}

export interface NotifySources {
  /** Programs of the command line; a program of the command line replaces those of the matrices. */
  readonly stated: readonly string[] | undefined;
  readonly matrices: readonly Matrix[] | null;
  readonly sweeps: readonly Sweep[];
  /** Starts no program of a file that the command line does not name. */
  readonly isUntrusted: boolean;
}

/** Starts the programs for findings of which they were not notified yet. */
export async function notifyOfNews(
  db: StoreDatabase,
  output: Checked,
  sources: NotifySources,
  hide: (output: Checked) => unknown,
  io: Io,
): Promise<void> {
  const news = output.findings.filter(({ direction, state }) => state === 'new' && direction === 'slower');
  const ids = news.map(({ id }) => id);
  const waiting = notNotified(db, ids);
  const idsOf = (sweeps: readonly Sweep[]): string[] =>
    news.flatMap((one) => (waiting.has(one.id) && sweeps.some((sweep) => isOfSeries(one, sweep)) ? one.id : []));
  const sweeps = sources.sweeps.filter((sweep) => idsOf([sweep]).length > 0);
  for (const { argv, sweeps: own } of await notifyPrograms(db, { ...sources, sweeps }, io)) {
    if (!(await startProgram(argv, `${jsonText(hide(output))}\n`, io))) continue;
    markNotified(db, idsOf(own), io.now().toISOString());
  }
}

/**
 * The programs to start, each once, with its sweeps. They never come from a store, an import or an artefact, which only
 * name the file.
 */
export async function notifyPrograms(
  db: StoreDatabase,
  { stated, matrices, sweeps, isUntrusted }: NotifySources,
  io: Io,
): Promise<readonly { readonly argv: readonly string[]; readonly sweeps: readonly Sweep[] }[]> {
  if (stated !== undefined) return sweeps.length === 0 ? [] : [{ argv: stated, sweeps }];
  const places = matrices !== null || isUntrusted ? [] : await placesOf(io);
  const programOf = (sweep: Sweep): readonly string[] | null => {
    if (matrices !== null) {
      return matrices.find(({ name, notify }) => name === sweep.matrix && notify !== null)?.notify?.value ?? null;
    }
    try {
      return matrixOfSweep(db, sweep, places, io)?.notify?.value ?? null;
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      const file = printable(matrixFileOf(db, sweep.sweepId) ?? '');
      io.err(`note: notify: ${file} can no longer be read: nothing was started\n`);
      return null;
    }
  };
  const programs = sweeps.flatMap((sweep) => {
    const argv = programOf(sweep);
    return argv === null ? [] : [{ argv, sweep }];
  });
  return [...Map.groupBy(programs, ({ argv }) => JSON.stringify(argv)).values()].flatMap((same) =>
    same.slice(0, 1).map(({ argv }) => ({ argv, sweeps: same.map(({ sweep }) => sweep) })),
  );
}
