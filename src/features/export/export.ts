import { yieldToEventLoop, type Io } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { namedRun } from '../../selection/by-name.ts';
import { jsonText, printable } from '../../text/printable.ts';
import type { ExportOptions } from './command.ts';
import type { ExportOutput } from './output.ts';
import { chromeTrace, runTrace } from './trace.ts';

export async function exportRun(name: string, options: ExportOptions, io: Io): Promise<ExitCode> {
  const { format, json, output, redact } = options;
  const file = output === undefined || output === '-' ? null : output;
  if (file === null && json === true) {
    throw new UsageError('only one thing can go to standard output: name a file with --output');
  }
  if (file !== null && redact === true) {
    throw new UsageError('--redact hides names in what is printed: leave --output out');
  }
  return withStore(options, io, async (store) => {
    const { notes, runId, slices, trace } = runTrace(store.db, namedRun(store.db, name));
    const chunks = chromeTrace(trace);
    const onProgress = (): void => {
      for (const note of notes) io.err(`note: ${printable(note)}\n`);
    };
    if (file === null) {
      onProgress();
      for (const chunk of chunks) {
        io.out(chunk);
        await yieldToEventLoop(io);
      }
      return EXIT_CODES.fine;
    }
    const bytes = await writeOutput(file, chunks, io);
    const written: ExportOutput = { schemaVersion: 1, runId, format, file, bytes, slices, notes };
    if (json === true) io.out(`${jsonText(written)}\n`);
    else {
      onProgress();
      io.err(`wrote ${printable(file)}\n`);
    }
    return EXIT_CODES.fine;
  });
}
