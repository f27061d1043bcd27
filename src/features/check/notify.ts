import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { BenchError } from '../../errors.ts';
import { THIS_NODE } from '../../matrix/gate.ts';
import type { Matrix } from '../../matrix/load.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { matrixFileOf } from '../../store/sweeps/sweeps.ts';
import { markNotified, notNotified } from '../../store/sweeps/findings.ts';
import { printable } from '../../text/printable.ts';
import { matrixOfSweep, placesOf } from '../plan/index.ts';
import type { Checked } from './output.ts';

const LIMIT_S = 30;
/** Size of the kept output of the program; enough for its last line. */
const LOG_BYTES = 64 << 10;
const LONGEST_LINE = 200;

/** Starts a program with a text as its standard input. */
export async function startProgram(argv: readonly string[], text: string, io: Io): Promise<boolean> {
  const [program = '', ...args] = argv;
  const isModule = program === THIS_NODE;
  return inTemporaryFolder('notify', async (folder) => {
    const [stdoutPath, stderrPath] = [join(folder, 'stdout.log'), join(folder, 'stderr.log')];
    const paths = { stdinPath: join(folder, 'check.json'), stdoutPath, stderrPath };
    await writeFile(paths.stdinPath, text);
    const limits = { timeoutMs: LIMIT_S * 1000, logCapBytes: LOG_BYTES };
    const invocation = { file: isModule ? process.execPath : program, args, cwd: io.cwd, env: io.env };
    const ended = await io.spawn({ ...invocation, ...paths, ...limits }, io.signal, () => {});
    if (ended.exitCode === 0) return true;
    const printed = [stderrPath, stdoutPath].map((path) => readFileSync(path, 'utf8').trimEnd().split('\n').at(-1));
    const how = ended.signal === null ? `exit code ${ended.exitCode}` : `ended by ${ended.signal}`;
    const failure = [how, ...printed.filter(Boolean).slice(0, 1)].join(': ').slice(0, LONGEST_LINE);
    const problem = ended.startProblem ?? (ended.timedOut ? `bench stopped it after ${LIMIT_S} s` : failure);
    const name = printable(isModule ? (args.at(-1) ?? '') : program);
    const then = 'the findings are stored, and the next check tries again';
    io.err(`note: notify: ${name}: ${printable(problem)}; ${then}\n`);
    return false;
  });
}

export interface NotifySources {
  /** Program of the command line, in place of those of the matrices. */
  readonly stated: readonly string[] | undefined;
  readonly matrices: readonly Matrix[] | null;
  readonly sweeps: readonly Sweep[];
  /** Starts no program of a file that the command line does not name. */
  readonly isUntrusted: boolean;
}

/** Starts the programs for findings of which they were not notified yet. */
export async function notifyOfNews(db: StoreDatabase, said: Checked, text: string, sources: NotifySources, io: Io) {
  const news = said.findings.filter(({ direction, state }) => state === 'new' && direction === 'slower');
  const ids = news.map(({ id }) => id);
  const waiting = notNotified(db, ids);
  const idsOf = ({ branch, matrix, provenance }: Sweep): string[] => {
    const own = news.filter((one) => one.branch === branch && one.matrix === matrix && one.provenance === provenance);
    return own.flatMap(({ id }) => (waiting.has(id) ? id : []));
  };
  const sweeps = sources.sweeps.filter((sweep) => idsOf(sweep).length > 0);
  for (const { argv, sweeps: own } of await notifyPrograms(db, { ...sources, sweeps }, io)) {
    if (await startProgram(argv, text, io)) markNotified(db, own.flatMap(idsOf), io.now().toISOString());
  }
}

/** The programs to start, each once, with its sweeps. A store, an import or an artefact only names their file. */
export async function notifyPrograms(db: StoreDatabase, sources: NotifySources, io: Io) {
  const { stated, matrices, sweeps, isUntrusted } = sources;
  const places = matrices !== null || isUntrusted ? [] : await placesOf(io);
  const programOf = (sweep: Sweep): readonly string[] | undefined => {
    if (stated !== undefined) return stated;
    if (matrices !== null) return matrices.find(({ name, notify }) => name === sweep.matrix && notify)?.notify?.value;
    try {
      return matrixOfSweep(db, sweep, places, io)?.notify?.value;
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      const file = printable(matrixFileOf(db, sweep.sweepId) ?? '');
      io.err(`note: notify: ${file} can no longer be read: nothing was started\n`);
      return undefined;
    }
  };
  const programs = sweeps.map((sweep) => ({ sweep, argv: programOf(sweep) }));
  return [...Map.groupBy(programs, ({ argv }) => JSON.stringify(argv)).values()].flatMap((same) => {
    const argv = same[0]?.argv;
    return argv === undefined ? [] : [{ argv, sweeps: same.map(({ sweep }) => sweep) }];
  });
}
