import { relative } from 'node:path';

import { enginesFolderOf } from '../../files/layout.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { InterruptedError, StoreLostError, IncompleteError, EXIT_CODES, type ExitCode, failOn } from '../../errors.ts';
import { missingLibrary, missingLibraryText } from '../../trtexec/failures.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import type { SweepCounts } from '../../run/sweep-context.ts';
import type { Sweep } from '../../records/sweep.ts';
import { leftOutOf } from '../../run/planned-sweep.ts';
import { recordedOf, runSweep, saveState, withLockedClocks } from '../../run/run-sweep.ts';
import { UnfitRoundError } from '../../run/measure-in-turns.ts';
import { type UnfitRound, UnfitRounds } from '../../run/unfit-rounds.ts';
import type { StoredPlan } from '../../run/stored-plan.ts';
import { abText, abReport } from '../experiment/index.ts';
import { sweepReport, sweepText } from '../sweep/index.ts';
import { lastGoodBuilds } from '../../store/builds/builds.ts';
import { timeEstimates } from '../../store/runs/time-estimates.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { NO_SWEEP_NUMBERS, sweepNumbers, withReused } from '../../store/sweeps/overview.ts';
import { failedRunsOf } from '../../store/runs/runs.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { findSweep } from '../../store/sweeps/sweeps.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { engineBuilds, type TimeEstimates, totalEstimateS, planOfCells } from '../../matrix/plan/assign-gpus.ts';
import { count, formatDuration, runsAndEngines } from '../../terminal/numbers.ts';
import { reasonWords } from '../../terminal/words.ts';
import { openWorkers, type PreparedSweep } from '../../run/gpu-worker.ts';
import { LiveProgress } from '../../run/live-progress.ts';
import { checkedSweep, closingText } from '../check/index.ts';
import type { SweepOptions } from './command.ts';
import { moreRuns } from './more-runs.ts';
import { showFound } from './search/search-report.ts';
import { SearchRuns } from './search/search-runs.ts';
import { SweepSuspects } from './suspects/suspect-pairs.ts';
import type { SweepId } from '../../records/scalars.ts';

export async function executePlan(
  store: OpenStore,
  prepared: PreparedSweep,
  options: SweepOptions,
  io: Io,
): Promise<ExitCode> {
  const { machines, program, stored, sweep } = prepared;
  const { plan, search: wanted } = stored;
  const recorded = recordedOf(plan, program.recordings?.folder);
  const search = wanted && new SearchRuns({ db: store.db, plan, search: wanted, sweep, recorded });
  if (search !== null && search.isKnown() && findSweep(store.db, sweep.sweepId) === null) {
    return showFound(search, { ...sweep, sweepId: null }, options, io);
  }
  const known = await timeEstimates(store, plan, program.provenance);
  if (options.json !== true) {
    io.err(`${io.errLook.style.dim(startText(store, { ...prepared, known }, io))}\n`);
  }
  for (const note of new Set(machines.map((machine) => machine.note))) {
    if (note !== null) io.err(`note: ${note}\n`);
  }
  return withLockedClocks(stored.lockClocks, machines, program, io, (locked) =>
    doSweep(store, { ...prepared, machines: locked, known }, search, options, io),
  );
}

type TimedSweep = PreparedSweep & { readonly known: TimeEstimates };

/** `sweep 1a2b3c4d in bench.sqlite: 10 runs + 1 engine, about 1.1 s`; a resumed sweep also says what is done. */
function startText(store: OpenStore, { sweep, stored, program, known }: TimedSweep, io: Io): string {
  const { plan } = stored;
  const planned = { runs: plan.runs.length, builds: engineBuilds(plan.builds).length };
  const { measured, built } = withReused(
    sweepNumbers(store.db, [sweep.sweepId]).get(sweep.sweepId) ?? NO_SWEEP_NUMBERS,
  );
  const name = `sweep ${sweep.sweepId.slice(0, 8)} in ${printable(relative(io.cwd, store.path))}: `;
  if (stored.search !== null) return `${name}as many of ${count(planned.runs, 'run')} as the search needs`;
  return findSweep(store.db, sweep.sweepId) === null
    ? `${name}${runsAndEngines(planned)}, about ${formatDuration(totalEstimateS(plan, program.recordings !== null, known))}`
    : `resuming ${name}${runsAndEngines({ ...planned, measured, built })} done`;
}

async function doSweep(
  store: OpenStore,
  prepared: TimedSweep,
  search: SearchRuns | null,
  options: SweepOptions,
  io: Io,
): Promise<ExitCode> {
  const { sweep, stored, program } = prepared;
  // A search chooses its runs one by one.
  const begun = search === null ? stored.plan : { ...stored.plan, runs: [] };
  const progress = new LiveProgress(begun, program, io, prepared.known);
  const { more: wanted, plan } = stored;
  const recorded = recordedOf(plan, program.recordings?.folder);
  const given = { db: store.db, sweep, plan, recorded, now: io.now };
  const onNote = (text: string): void => progress.take({ kind: 'note', text });
  const more = wanted === null ? null : moreRuns({ ...given, wanted, onNote });
  const cache = new EngineCache(enginesFolderOf(store.path));
  const suspects =
    stored.gate.confirm && stored.experiment === null && search === null
      ? new SweepSuspects({ ...given, stored, cache, progress }, io)
      : null;
  let counts: SweepCounts;
  try {
    const telemetry = stored.telemetry && options.telemetry !== false;
    const opened = { ...prepared, stored: { ...stored, plan: begun, telemetry } };
    const [first, ...others] = await openWorkers(store, opened, cache, io, (event, gpu) => progress.take(event, gpu));
    const own = {
      mayChangeEngines: options.anyway === true || first.mayChangeEngines,
      suspects,
      moreRuns: () => search?.next() ?? more?.() ?? [],
      unfitRounds: new UnfitRounds(),
    };
    counts = await runSweep([{ ...first, ...own }, ...others.map((worker) => ({ ...worker, ...own }))], stored);
    if (search !== null) {
      // Cells that the search did not need do not belong to the sweep.
      const measured = new Set(cellRunsOf(store.db, [sweep.sweepId]).map(({ cellKey }) => cellKey));
      const finished = { ...sweep, state: 'finished' as const, finishedAt: io.now().toISOString() };
      const needed = planOfCells(plan, measured);
      const leftOut = stored.leftOut && [...stored.leftOut, ...leftOutOf(plan, needed)];
      await saveState(first, { ...stored, plan: needed, leftOut }, finished);
    }
    if (plan.builds.length > 0) await cache.keepFor(store.path, lastGoodBuilds(store.db));
  } catch (error) {
    progress.end();
    const isUnfit = error instanceof UnfitRoundError;
    const isStopped = (io.signal.aborted || isUnfit) && !(error instanceof StoreLostError);
    if (!isStopped || findSweep(store.db, sweep.sweepId) === null) throw error;
    const left = `continue with \`bench run --resume ${sweep.sweepId.slice(0, 8)}\``;
    if (isUnfit) {
      if (search === null) await show(store, sweep.sweepId, stored, error.counts, options, io, error.round);
      throw new IncompleteError(`${roundText(error.round)}; what was measured is stored: ${left}`, { cause: error });
    }
    throw new InterruptedError(`interrupted; what was measured is stored: ${left}`, { cause: error });
  }
  progress.end();
  if (search !== null) return showFound(search, sweep, options, io);
  const shown = await show(store, sweep.sweepId, stored, counts, options, io);
  if (counts.measured + counts.kept + counts.unfit === 0 && lacksLibrary(store, sweep, io)) {
    return EXIT_CODES.environmentLacking;
  }
  return failOn(options.failOn, {
    regression: false,
    unclear: shown.isUnclear,
    failed: counts.failed + counts.unfit - counts.replaced + counts.skipped + shown.failed > 0,
  });
}

function roundText({ cells, evidence, reason, runs }: UnfitRound): string {
  const what = evidence === null ? '' : ` (${printable(evidence)})`;
  return `stopped: ${count(runs, 'run')} in a row, of ${count(cells, 'cell')}, are unfit: ${reasonWords(reason)}${what}`;
}

/** True when nothing could start because a library is missing. Prints its name and what to do. */
function lacksLibrary({ db }: OpenStore, { sweepId }: Sweep, io: Io): boolean {
  const failed = failedRunsOf(db, sweepId);
  const isAll = failed.every(({ outcome }) => outcomeReason(outcome) === 'libraryMissing');
  const names = failed.map(({ outcome }) => missingLibrary(outcome.evidence));
  const [name] = names;
  if (!isAll || name === undefined || name === null || names.includes(null)) return false;
  io.err(`bench: trtexec: ${printable(missingLibraryText(name))}\n`);
  return true;
}

/** Returns the failures that `bench check` reports, and whether an experiment is unclear. */
async function show(
  store: OpenStore,
  sweepId: SweepId,
  { experiment, plan }: StoredPlan,
  counts: SweepCounts,
  options: SweepOptions,
  io: Io,
  stopped: UnfitRound | null = null,
): Promise<{ readonly failed: number; readonly isUnclear: boolean }> {
  const sweep = findSweep(store.db, sweepId);
  if (sweep === null || (experiment !== null && stopped !== null)) return { failed: 0, isUnclear: false };
  if (experiment !== null) {
    const { output, cells } = abReport(store.db, sweep, experiment);
    printResult(io, options, output, (_, look) => abText(output, cells, look));
    return { failed: 0, isUnclear: output.overall.verdict === 'unclear' };
  }
  const report = sweepReport(store.db, sweep, plan, options, counts);
  const { output: shown } = report;
  const output = stopped === null ? shown : { ...shown, stopped };
  const gate = stopped === null ? await checkedSweep(store.db, sweep, io) : null;
  printResult(io, options, output, (_, look) => [
    ...sweepText(report, look),
    ...(gate === null ? [] : ['', ...closingText(gate, look)]),
  ]);
  return { failed: gate?.standing.failed ?? 0, isUnclear: false };
}
