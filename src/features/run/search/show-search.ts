import { existsSync } from 'node:fs';

import { gitStateOf } from '../../../cli/git-state.ts';
import { type Io, printResult } from '../../../cli/io.ts';
import { storePath } from '../../../cli/store-location.ts';
import { withStore } from '../../../cli/with-store.ts';
import { EXIT_CODES, type ExitCode } from '../../../exit-codes.ts';
import { plannedSweep } from '../../../run/planned-sweep.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import { noTrtexec } from '../../../cli/program.ts';
import { prepare } from '../../plan/index.ts';
import type { SweepOptions } from '../command.ts';
import { searchOutput, searchText } from './search-report.ts';
import { searchRuns, type SearchRequest, wantedSearch } from './wanted-search.ts';

/** What a search would measure, and what is known already. Runs nothing. */
export async function showSearch(
  path: string,
  options: SweepOptions,
  io: Io,
  request: SearchRequest,
): Promise<ExitCode> {
  const { plan, program } = await prepare(path, options, 'models maybe later', io);
  const git = await gitStateOf(options, io);
  const startedAt = io.now().toISOString();
  const sweep = plannedSweep(plan, program ?? noTrtexec(io), { ...git, sweepId: '', startedAt });
  const show = (db: StoreDatabase | null): ExitCode => {
    const search = wantedSearch(db, plan, sweep, null, request);
    const runs = searchRuns(db, { plan, search, sweep, recorded: null });
    const output = searchOutput(runs, { ...sweep, sweepId: null });
    printResult(io, options, output, searchText);
    return EXIT_CODES.fine;
  };
  return existsSync(storePath(options.db, io)) ? withStore(options, io, ({ db }) => show(db)) : show(null);
}
