import { flagOf } from '../../cli/options.ts';
import type { Io } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError, DEFAULT_FAIL_ON, type ExitCode } from '../../errors.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { resolveSide } from '../../selection/sides.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { type SearchRequest, showSearch, startSweep } from '../run/index.ts';
import type { ChooseOptions } from './command.ts';

/** Options about stored results or about the table, which do not go with `--search`. */
const NOT_SEARCHED = ['at', 'minSqnr', 'scaling'] as const;

const SURE_PERCENT = 95;

/** `bench choose --search`: measures until it finds the highest batch or number of streams within the limit. */
export async function search(options: ChooseOptions & { readonly search: string | true }, io: Io): Promise<ExitCode> {
  const { maxLatency: maxLatencyMs, maxRepeats = null, maxRuns = null, over: axis = null } = options;
  if (maxLatencyMs === undefined) throw new UsageError('--search needs a limit: add --max-latency MS');
  const wrong = NOT_SEARCHED.find((name) => options[name] !== undefined);
  if (wrong !== undefined) throw new UsageError(`${flagOf(wrong)} cannot be used with --search, which measures`);
  const path = options.search === true ? await newestMatrix(options, io) : options.search;
  const metric = options.metric === 'p99' ? 'p99Ms' : 'latencyMs';
  const surePercent = options.sure ?? SURE_PERCENT;
  const request: SearchRequest = { axis, maxLatencyMs, metric, surePercent, maxRuns, maxRepeats };
  const failOn = [...DEFAULT_FAIL_ON];
  const planned = { ...options, builds: 1, profile: false, telemetry: true, maxRepeats: 1, failOn };
  if (options.dryRun === true) return showSearch(path, planned, io, request);
  return startSweep(path, planned, io, null, request);
}

function newestMatrix(options: ChooseOptions, io: Io): Promise<string> {
  return withStore(options, io, async ({ db }) => {
    const { sweeps } = await resolveSide(db, 'latest', io, { branch: options.branch });
    const files = sweeps.flatMap(({ sweepId }) => readStoredPlan(planOf(db, sweepId))?.matrix?.file ?? []);
    const [file] = files;
    if (file === undefined) throw new UsageError('the newest sweep has no matrix: name one, as in --search MATRIX');
    return file;
  });
}
