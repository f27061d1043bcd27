import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { jsonText } from '../../text/printable.ts';
import type { Sweep, SweepState } from '../../records/sweep.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import { sweepsJson, sweepsText } from '../show/index.ts';
import { countSweeps, listSweeps } from '../../store/sweeps/find-sweeps.ts';
import { sweepNumbers } from '../../store/sweeps/overview.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { SweepsOptions } from './command.ts';

/** A sweep that nobody measures any more was interrupted, whatever it could still write. */
function stateOf({ state, sweepId }: Sweep, artefactsFolder: string): SweepState {
  return state === 'running' && sweepLockHolder(artefactsFolder, sweepId) === null ? 'interrupted' : state;
}

const NO_RUNS = { cells: 0, runs: 0, measured: 0, builds: 0, built: 0, flagged: 0 };

/** `bench sweeps`: what was measured and imported, the newest first. */
export function sweeps(options: SweepsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = listSweeps(store.db, options.last);
    const numbers = sweepNumbers(
      store.db,
      found.map(({ sweepId }) => sweepId),
    );
    const artefacts = artefactsFolderOf(store.path);
    const listed = found.map((sweep) => ({
      sweep: { ...sweep, state: stateOf(sweep, artefacts) },
      ...(numbers.get(sweep.sweepId) ?? NO_RUNS),
    }));
    if (options.json === true) io.out(`${jsonText(sweepsJson(listed))}\n`);
    else if (listed.length === 0) io.out('no sweep is stored: `bench run` or `bench import` something\n');
    else printLines(io, sweepsText(listed, countSweeps(store.db), io.look));
    return EXIT_CODES.fine;
  });
}
