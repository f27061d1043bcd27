import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import type { AbExperiment } from '../../judge/experiment.ts';
import type { MatrixCell, TwoSidedCells } from '../../matrix/matrix.ts';
import { type EnvironmentVariables, TELEMETRY_VARIABLE } from '../../process/environment-variables.ts';
import { ENV_AXIS, keyedCell, cellLabel } from '../../records/cell.ts';
import { METRIC_WORDS, metricOfWord } from '../../records/metric.ts';
import { RUN_MARKS } from '../../records/outcome.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { resolveSide } from '../../selection/sides.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { isSecret } from '../../text/redact.ts';
import { abReport, abText } from '../experiment/index.ts';
import { startSweep } from '../run/index.ts';
import type { AbOptions } from './command.ts';

export async function ab(what: string | undefined, options: AbOptions, io: Io): Promise<ExitCode> {
  const isTrial = options.env !== undefined || options.experiment !== undefined;
  const isMatrix = what === undefined || /\.ya?ml$/i.test(what) || existsSync(resolve(io.cwd, what));
  const stored = options.read ?? (isTrial || isMatrix ? null : what);
  ensure(!isTrial || stored === null, '--read shows what is stored: it takes no --env or --experiment');
  if (stored !== null) return readAgain(stored, options, io);
  ensure(what !== undefined, 'which matrix? Write `bench ab MATRIX --env NAME=VALUE`, or `bench ab SWEEP`');
  const request = readExperiment(options);
  const planned = { ...options, builds: 1, profile: false, maxRepeats: options.repeats };
  return startSweep(what, planned, io, (cells) => twoSided(cells, request, io.env));
}

function readAgain(ref: string, options: AbOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const [sweep] = (await resolveSide(db, ref, io)).sweeps;
    const experiment = sweep && readStoredPlan(planOf(db, sweep.sweepId))?.experiment;
    if (!experiment) throw new UsageError(`${printable(ref)} is not an A/B experiment; \`bench ls sweeps\` lists them`);
    const metric = options.metric ?? experiment.metric;
    const { output, cells } = abReport(db, sweep, { ...experiment, metric });
    return printResult(io, options, output, (_, look) => abText(output, cells, look));
  });
}

/** @throws UsageError if A equals B, if trtexec does not know the variables, or if no cell will have the metric */
function twoSided(cells: readonly MatrixCell[], request: ExperimentRequest, env: EnvironmentVariables): TwoSidedCells {
  const { isForTrtexec, marks, variables, ...about } = request;
  const { metric } = about;
  // Harnesses may have any metric.
  if (metric !== null && metricOfWord(metric) === null && cells.every(({ harness }) => harness === null)) {
    const known = `${METRIC_WORDS.join(', ')}${didYouMean(metric, METRIC_WORDS)}`;
    throw new UsageError(`--metric ${printable(metric)}: not one of ${known}`);
  }
  const pairs = cells.map((a) => {
    const { axisFlags } = a.cell;
    const why = `is measured by trtexec, which does not know ${Object.keys(variables).join(', ')}: leave it out with --filter`;
    ensure(a.harness !== null || isForTrtexec, `${printable(cellLabel(a.cell))} ${why}`);
    for (const [name, value] of Object.entries(variables)) refuseInA(a, name, value, env);
    const onAxes = Object.entries(variables).map(([name, value]) => [`${ENV_AXIS}${name}`, value]);
    const cell = keyedCell({ ...a.cell, axisFlags: { ...axisFlags, ...Object.fromEntries(onAxes) } });
    return { a, b: { ...a, cell, env: { ...a.env, ...variables }, side: { pair: a.cell.key, marks } } };
  });
  return {
    cells: pairs.flatMap(({ a, b }) => [{ ...a, side: { pair: a.cell.key, marks: [] } }, b]),
    experiment: { ...about, marks, variables, pairs: pairs.map(({ a, b }) => ({ a: a.cell.key, b: b.cell.key })) },
  };
}

/** Rejects a variable that is already an axis, or that has the same value in A. */
function refuseInA({ cell, env: onAxis, harness }: MatrixCell, name: string, value: string, env: EnvironmentVariables) {
  const onMatrix = `${name} is already an axis of the matrix: remove it there, or leave these cells out with --filter`;
  ensure(typeof onAxis[name] !== 'string', `${printable(cellLabel(cell))}: ${onMatrix}`);
  const { [name]: inA } = [onAxis, harness?.env ?? {}].find((own) => name in own) ?? env;
  const unset = 'so A would equal B: unset it in the environment of bench, or in the matrix';
  ensure(inA !== value, `${name}=${printable(value)} is already set without the experiment, ${unset}`);
}

interface ExperimentRequest extends Omit<AbExperiment, 'pairs'> {
  /** False if trtexec reads none of the variables. */
  readonly isForTrtexec: boolean;
}

const SIGNIFICANT_PERCENT = 10;

/** @throws UsageError when no variable is set, or one cannot be set */
function readExperiment(options: AbOptions): ExperimentRequest {
  const preset = options.experiment === undefined ? null : NAMED_EXPERIMENTS[options.experiment];
  const stated = Object.fromEntries((options.env ?? []).map(readVariable));
  const variables = { ...preset?.variables, ...stated };
  const ways = 'Name a variable, --env NAME=VALUE, or a known experiment, --experiment perfect-router';
  ensure(Object.keys(variables).length > 0, `what is B? ${ways}`);
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const name = options.name ?? options.experiment ?? settings.join(' ').slice(0, 100);
  const marks = RUN_MARKS.filter((mark) => options[mark] === true || preset?.marks?.includes(mark));
  const { isForTrtexec = true, notes = [], significantPercent: usual = SIGNIFICANT_PERCENT } = preset ?? {};
  const significantPercent = options.significant ?? usual;
  return { name, variables, significantPercent, metric: options.metric ?? null, marks, notes, isForTrtexec };
}

function readVariable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  ensure(name !== undefined && value !== undefined, `--env ${printable(text)}: write NAME=VALUE`);
  const why = 'bench would store its value, which looks like a secret: set it in the environment of bench';
  ensure(!isSecret(name, value), `--env ${printable(name)}: ${why}`);
  return [name, value];
}

type NamedExperiment = Pick<ExperimentRequest, 'notes' | 'variables'> & Partial<ExperimentRequest>;

const NAMED_EXPERIMENTS: Readonly<Record<NonNullable<AbOptions['experiment']>, NamedExperiment>> = {
  /**
   * The perfect router of TensorRT-LLM. Source: docs/source/developer-guide/perf-analysis.md of its repository, added
   * on 2025-12-26 (pull request 10303), with a threshold of 10 %; the models are from a later copy.
   */
  'perfect-router': {
    variables: { ENABLE_PERFECT_ROUTER: '1' },
    marks: ['upperBound', 'invalidOutput'],
    isForTrtexec: false,
    notes: [
      'TensorRT-LLM documents it for GPT-OSS and DeepSeek-V3/R1 (perf-analysis.md); a model that ignores the switch shows no difference',
    ],
  },
  /** The cost of telemetry for the runs that it watches. */
  telemetry: {
    variables: { [TELEMETRY_VARIABLE]: 'off' },
    significantPercent: 1,
    notes: [
      'A runs with nvidia-smi once a second, as every sweep does; B runs without: its gain is the cost of telemetry',
    ],
  },
};
