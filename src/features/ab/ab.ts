import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import type { Sweep } from '../../records/sweep.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { abText, abReport } from '../experiment/index.ts';
import { sweepsNamed } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findSweepsByPrefix, planOf } from '../../store/sweeps/sweeps.ts';
import { checkAskedMetric } from './asked-metric.ts';
import { twoSided } from './sides.ts';
import { readWish } from './wish.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { startSweep } from '../run/index.ts';
import { withStore } from '../../cli/with-store.ts';
import type { AbOptions } from './command.ts';

/** `bench ab MATRIX --env NAME=VALUE`: every cell as it is and with the variable set, turn by turn. */
export async function ab(what: string | undefined, options: AbOptions, io: Io): Promise<ExitCode> {
  const isTrial = options.env !== undefined || options.experiment !== undefined;
  const isMatrix = what === undefined || /\.ya?ml$/i.test(what) || isFile(what, io);
  const stored = options.read ?? (isTrial || isMatrix ? null : what);
  if (stored !== null) {
    if (isTrial) throw new UsageError('--read shows what is stored: it takes no --env or --experiment');
    return readAgain(stored, options, io);
  }
  if (what === undefined) {
    throw new UsageError('which matrix? Write `bench ab MATRIX --env NAME=VALUE`, or `bench ab SWEEP`');
  }
  const wish = readWish(options);
  const planned = { ...options, builds: 1, profile: false, maxRepeats: options.repeats };
  return startSweep(what, planned, io, (cells) => {
    checkAskedMetric(wish.metric, cells);
    return twoSided(cells, wish, io.env);
  });
}

function isFile(path: string, io: Io): boolean {
  return existsSync(resolve(io.cwd, path));
}

function readAgain(ref: string, options: AbOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, ({ db }): ExitCode => {
    const sweep = sweepOf(db, ref);
    const experiment = readStoredPlan(planOf(db, sweep.sweepId))?.experiment ?? null;
    if (experiment === null) {
      throw new UsageError(
        `sweep ${sweep.sweepId.slice(0, 8)} is no A/B experiment; those of \`bench ab\` stand in \`bench ls sweeps\``,
      );
    }
    const metric = options.metric ?? experiment.metric;
    const { output, details } = abReport(db, sweep, { ...experiment, metric });
    printResult(io, options, output, (_, look) => abText(output, details, look));
    return EXIT_CODES.fine;
  });
}

function sweepOf(db: StoreDatabase, ref: string): Sweep {
  const [named] = sweepsNamed(db, ref);
  if (named !== undefined) return named;
  const found = findSweepsByPrefix(db, ref);
  const [only] = found;
  if (only === undefined) {
    throw new UsageError(`${printable(ref)}: neither a matrix file, nor a sweep or an experiment in this store`);
  }
  if (found.length > 1) {
    throw new UsageError(`${printable(ref)} is the start of ${found.length} sweeps: write more of it`);
  }
  return only;
}
