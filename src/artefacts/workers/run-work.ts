import { keepRun } from '../keep.ts';
import type { ReadRun } from '../read/read-run.ts';
import { readSource } from '../read/read-source.ts';
import type { StandaloneReading } from '../read/read-standalone.ts';
import type { RunSource } from '../read/recognise.ts';
import type { RunManifest } from '../run-manifest.ts';
import { packed } from '../../trtexec/samples/packed-times.ts';

/** What is to be done with the files of each run, in this thread or in others. */
export interface RunWork extends AsyncDisposable {
  /** How many sources are worth reading before they are asked for. */
  readonly ahead: number;
  /** As `readSource`, with packed times. */
  read(source: RunSource, standalone: StandaloneReading): Promise<ReadRun[]>;
  /** As `keepRun`. */
  keep(target: string, files: ReadonlyMap<string, string>, manifest: RunManifest): Promise<void>;
}

/** @param signal aborts what is being read */
export function workHere(signal: AbortSignal): RunWork {
  return {
    ahead: 8,
    read: async (source, standalone) => {
      const runs = await readSource(source, standalone, { signal });
      return runs.map((run) => withPackedTimes(run));
    },
    keep: keepRun,
    [Symbol.asyncDispose]: async () => {},
  };
}

function withPackedTimes(run: ReadRun): ReadRun {
  const { times } = run.exports;
  return times === null ? run : { ...run, exports: { ...run.exports, times: packed(times) } };
}
