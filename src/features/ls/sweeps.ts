import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import type { Sweep, SweepState } from '../../records/sweep.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import type { SweepsOutput } from './output.ts';
import { sweepsText } from './text.ts';
import { countSweeps, listSweeps } from '../../store/sweeps/find-sweeps.ts';
import { sweepNumbers } from '../../store/sweeps/overview.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { withStore } from '../../cli/with-store.ts';
import type { SweepsOptions } from './command.ts';

/** A sweep that nobody measures any more was interrupted, whatever it could still write. */
function stateOf({ state, sweepId }: Sweep, artefactsFolder: string): SweepState {
  return state === 'running' && sweepLockHolder(artefactsFolder, sweepId) === null ? 'interrupted' : state;
}

const NO_RUNS = { cells: 0, runs: 0, measured: 0, builds: 0, built: 0, flagged: 0 };

/** `bench ls sweeps`: what was measured and imported, the newest first. */
export function sweeps(options: SweepsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = listSweeps(store.db, options.last);
    const numbers = sweepNumbers(
      store.db,
      found.map(({ sweepId }) => sweepId),
    );
    const artefacts = artefactsFolderOf(store.path);
    const listed = found.map((sweep) => ({
      ...sweep,
      state: stateOf(sweep, artefacts),
      ...(numbers.get(sweep.sweepId) ?? NO_RUNS),
    }));
    printResult<SweepsOutput>(io, options, { schemaVersion: 1, sweeps: listed }, (output, look) =>
      sweepsText(output, countSweeps(store.db), look),
    );
    return EXIT_CODES.fine;
  });
}
