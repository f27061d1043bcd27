import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { findDriver } from '../../harnesses/registry.ts';
import type { MatrixCell, TwoSidedCells } from '../../matrix/matrix.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { ENV_AXIS, keyedCell } from '../../records/cell.ts';
import { isMetric, isOwnMetric, METRIC_WORDS, metricOf, ownMetricNamed } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { sweepsNamed } from '../../store/sweeps/find-sweeps.ts';
import { findSweepsByPrefix, planOf } from '../../store/sweeps/sweeps.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { abReport, abText } from '../experiment/index.ts';
import { startSweep } from '../run/index.ts';
import type { AbOptions } from './command.ts';
import { type ExperimentRequest, readExperiment } from './request.ts';

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
  const request = readExperiment(options);
  const planned = { ...options, builds: 1, profile: false, maxRepeats: options.repeats };
  return startSweep(what, planned, io, (cells) => {
    checkRequestedMetric(request.metric, cells);
    return twoSided(cells, request, io.env);
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
    return printResult(io, options, output, (_, look) => abText(output, details, look));
  });
}

function sweepOf(db: StoreDatabase, ref: string): Sweep {
  const [newest] = sweepsNamed(db, ref);
  const [sweep, ...others] = newest === undefined ? findSweepsByPrefix(db, ref) : [newest];
  if (sweep === undefined) {
    throw new UsageError(`${printable(ref)}: neither a matrix file, nor a sweep or an experiment in this store`);
  }
  if (others.length > 0) throw new UsageError(`${printable(ref)} is the start of several sweeps: write more of it`);
  return sweep;
}

/**
 * Rejects a metric that no cell will have before anything is measured. Custom harnesses are exempt.
 * @throws UsageError with a list of the available metrics
 */
function checkRequestedMetric(name: string | null, cells: readonly MatrixCell[]): void {
  if (name === null || isMetric(name) || ownMetricNamed(name) !== undefined) return;
  const labels = new Set<string>();
  for (const { cell, harness } of cells) {
    if (harness === null) continue;
    const knownIds = findDriver(harness.driver)?.metrics(harness.settings) ?? null;
    const ids = [...(cell.harness === undefined ? [] : [cell.harness.metric]), ...(knownIds ?? [])];
    for (const id of ids) if (!isOwnMetric(id)) labels.add(metricOf(id).label);
    if (knownIds === null || labels.has(name)) return;
  }
  const own = [...labels];
  const [start, end] = own.length === 0 ? ['not', ''] : ['neither', ` nor a number of the harness (${own.join(', ')})`];
  throw new UsageError(
    `--metric ${printable(name)}: ${start} one of ${METRIC_WORDS.join(', ')}${end}${didYouMean(name, [...METRIC_WORDS, ...own])}`,
  );
}

/**
 * @param env environment of bench
 * @throws UsageError if A and B would be equal, or A is unknown
 */
function twoSided(cells: readonly MatrixCell[], request: ExperimentRequest, env: EnvironmentVariables): TwoSidedCells {
  const { isForTrtexec, ...experiment } = request;
  const before = Object.fromEntries(
    Object.entries(request.variables).map(([name, value]) => [name, valuesBefore(cells, name, value, env)]),
  );
  const pairs = cells.map((a) => {
    if (a.harness === null && !isForTrtexec) {
      throw new UsageError(
        `${printable(cellLabel(a.cell))} is measured by trtexec, which does not know ${Object.keys(request.variables).join(', ')}: leave it out with --filter`,
      );
    }
    return { a, b: sideB(a, request) };
  });
  return {
    cells: pairs.flatMap(({ a, b }) => [{ ...a, side: { pair: a.cell.key, marks: [] } }, b]),
    experiment: { ...experiment, before, pairs: pairs.map(({ a, b }) => ({ a: a.cell.key, b: b.cell.key })) },
  };
}

function sideB(a: MatrixCell, { marks, variables }: ExperimentRequest): MatrixCell {
  const onAxes = Object.entries(variables).map(([name, value]) => [`${ENV_AXIS}${name}`, value]);
  return {
    ...a,
    cell: keyedCell({ ...a.cell, axisFlags: { ...a.cell.axisFlags, ...Object.fromEntries(onAxes) } }),
    env: { ...a.env, ...variables },
    side: { pair: a.cell.key, marks },
  };
}

/** Values of a variable on side A, over all cells. */
function valuesBefore(
  cells: readonly MatrixCell[],
  name: string,
  value: string,
  env: EnvironmentVariables,
): (string | null)[] {
  const values = cells.map(({ cell, env: onAxis, harness }) => {
    if (typeof onAxis[name] === 'string') {
      throw new UsageError(
        `${printable(cellLabel(cell))}: ${name} is on an axis of the matrix already: take it away there, or leave such cells out with --filter`,
      );
    }
    const stated = [onAxis, harness?.env ?? {}].find((own) => name in own);
    return stated === undefined ? (env[name] ?? null) : (stated[name] ?? null);
  });
  if (values.includes(value)) {
    throw new UsageError(
      `${name}=${printable(value)} holds already without the experiment, so A would be the same as B: unset it where bench is started, or in the matrix`,
    );
  }
  return [...new Set(values)];
}
