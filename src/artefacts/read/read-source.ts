import { readLayersFile } from './read-layers-alone.ts';
import { type LoneReading, NOTHING_STATED, readReportFile } from './read-lone.ts';
import { readBareLog, type ReadOptions, type ReadRun, readRunFolder } from './read-run.ts';
import type { RunSource } from './run-source.ts';

/**
 * The runs of one place, of whoever made them.
 * @throws TooLargeError for files that were made to fill the memory
 * @throws the reason of `options.signal` once it is aborted
 */
export async function readSource(
  source: RunSource,
  lone: LoneReading = NOTHING_STATED,
  options: Omit<ReadOptions, 'isForeign'> = {},
): Promise<ReadRun[]> {
  const runs = await runsOf(source, lone, { ...options, isForeign: true });
  options.signal?.throwIfAborted();
  return runs;
}

function runsOf(source: RunSource, lone: LoneReading, options: ReadOptions): Promise<ReadRun[]> {
  switch (source.kind) {
    case 'folder':
      return readRunFolder(source.path, options);
    case 'log':
      return readBareLog(source.path, options);
    case 'report':
      return readReportFile(source, lone, options.signal);
    case 'layers':
      return readLayersFile(source, lone, options.signal);
  }
}
