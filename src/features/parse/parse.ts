import { type ReadOptions, type ReadRun, readBareLog } from '../../artefacts/read/read-run.ts';
import { readSource } from '../../artefacts/read/read-source.ts';
import type { RunSource } from '../../artefacts/read/run-source.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { parseJson } from './json.ts';
import { jsonText } from '../../text/printable.ts';
import { runText } from '../../terminal/run-text.ts';
import { findRuns, nothingIn } from '../../selection/find-runs.ts';
import { type Io, printLines } from '../../cli/io.ts';
import type { ParseOptions } from './command.ts';

/** `bench parse LOG|FOLDER...`: what the parser sees; stores nothing. */
export async function parse(paths: readonly string[], options: ParseOptions, io: Io): Promise<ExitCode> {
  const reading: ReadOptions = options.minQueries === undefined ? {} : { limits: { minQueries: options.minQueries } };
  const runs: ReadRun[] = [];
  for (const path of paths) runs.push(...(await readPath(path, reading, io)));
  if (options.json === true) io.out(`${jsonText(parseJson(runs))}\n`);
  else
    printLines(
      io,
      runs.map((run) => runText(run, io.look)).flatMap((text) => [...text, '']),
    );
  return EXIT_CODES.fine;
}

async function readPath(path: string, reading: ReadOptions, io: Io): Promise<ReadRun[]> {
  const sources: RunSource[] = path === '-' ? [] : await findRuns(path, io);
  const runs: ReadRun[] = path === '-' ? await readBareLog('-', reading, untilAborted(io)) : [];
  for (const source of sources) {
    io.signal.throwIfAborted();
    runs.push(...(await readSource(source, undefined, { ...reading, signal: io.signal })));
  }
  io.signal.throwIfAborted();
  if (runs.length === 0) throw new UsageError(nothingIn(path));
  return runs;
}

async function* untilAborted({ stdin, signal }: Io): AsyncGenerator<Buffer> {
  for await (const chunk of stdin) {
    signal.throwIfAborted();
    yield chunk;
  }
}
