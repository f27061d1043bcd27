import { join } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { otherSystem } from '../../process/system.ts';
import { type Look, labelled, padEnd, textWidth, wrapWords } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { readMatrix } from '../plan/index.ts';
import type { DoctorOptions } from './command.ts';
import { gatherFacts } from './gather.ts';
import { judgeMachine, lackingOf } from './judge-machine.ts';
import type { DoctorCheck, DoctorOutput } from './output.ts';
import { packageFolder } from '../../files/folders.ts';
import { withStore } from '../../cli/with-store.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import { metricOf } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import { DOCTOR_BRANCH } from '../../records/sweep.ts';
import { cellsOfSweeps } from '../../selection/by-name.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { median } from '../../statistics/order-statistics.ts';
import { momentsOf, percentOfLog, twoSidedP } from '../../statistics/special-functions.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { sweepEnvironments } from '../../store/sweeps/environments.ts';
import { newestOfBranch, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import { cellLabel, inLabelOrder } from '../../records/cell.ts';
import { startSweep } from '../run/index.ts';
import { checksOf, type Judged } from './gpu-checks.ts';
import { defined } from '../../text/unknown-values.ts';

/** Earlier measurements that count. */
const MOST_SWEEPS = 100;
const MAX_REPEATS = 20;
/** With fewer earlier measurements of this machine, there is no comparison. */
const LEAST = 3;
const LEAST_PERCENT = 1;
const ALPHA = 0.01;
/**
 * Prior for the differences between sweeps of a machine: standard deviation on the log scale, and its weight in degrees
 * of freedom.
 */
const PRIOR = { sigma: 0.005, degrees: 3 } as const;

/** Measures the reference and compares it with earlier measurements. The sweep is part of no history. */
export async function measureReference(options: DoctorOptions, io: Io) {
  const { db, filter, matrix, trtexec } = options;
  const path = matrix ?? join(packageFolder(), 'matrices', 'reference.yaml');
  const asked = {
    branch: DOCTOR_BRANCH,
    maxRepeats: MAX_REPEATS,
    json: true as const,
    telemetry: true,
    failOn: ['failed'] as const,
    ...defined({ db, filter, trtexec }),
  };
  const ended = await startSweep(path, asked, { ...io, out: () => {} });
  return withStore(options, io, ({ db: store }) => {
    const measured = standingOf(store);
    const exitCode = measured?.standing === 'slower' ? EXIT_CODES.regression : ended;
    const rows = checksOf('reference', 'reference', [['speed', 'speed', judged(measured)]]);
    return { measured, checks: rows, exitCode };
  });
}

type Measured = NonNullable<DoctorOutput['measured']>;

/** Compares the newest measurement with earlier ones of the same GPU and host; null if no run of it counts. */
function standingOf(db: StoreDatabase): Measured | null {
  const sweep = newestOfBranch(db, DOCTOR_BRANCH);
  if (sweep === null) return null;
  const { sweepId } = sweep;
  const machineOf = (id: SweepId) => sweepEnvironments(db, id)[0] ?? UNKNOWN_ENVIRONMENT;
  const { gpuName, gpuUuid, host } = machineOf(sweepId);
  const sweeps = seriesUntil(db, sweep, MOST_SWEEPS).filter(({ sweepId: id }) => {
    const machine = machineOf(id);
    return machine.host === host && machine.gpuUuid === gpuUuid;
  });
  const all = inLabelOrder(cellsOfSweeps(db, [sweepId], undefined));
  const newest = sweeps.length - 1;
  const measured = cellHistories(db, sweeps.toReversed(), all, null, 'newest', () => 'values').flatMap(
    ({ cell, history, metric }) => {
      const values = new Map(history.places.map((place, nth) => [place, history.values[nth] ?? 0]));
      const usual = median([...values].flatMap(([place, value]) => (place === newest ? [] : value)));
      const value = values.get(newest);
      return value === undefined ? [] : [{ cell, metric, value, values, usual }];
    },
  );
  if (measured.length === 0) return null;
  /** Median slowdown of the cells of a sweep against their usual values, on the log scale; null without any. */
  const effectAt = (place: number): number | null =>
    median(
      measured.flatMap(({ metric, usual, values }) => {
        const value = values.get(place);
        if (value === undefined || usual === null) return [];
        return Math.log(value / usual) * (metricOf(metric).betterIs === 'lower' ? 1 : -1);
      }),
    );
  const effects = sweeps.flatMap((_, place) => (place === newest ? [] : (effectAt(place) ?? [])));
  const effect = effects.length < LEAST ? null : effectAt(newest);
  const isOff =
    effect !== null &&
    Math.abs(percentOfLog(effect)) >= LEAST_PERCENT &&
    differenceP(effect, effects) < ALPHA / (effects.length + 1);
  const direction = effect !== null && effect > 0 ? 'slower' : 'faster';
  return {
    sweepId,
    machine: host ?? gpuUuid?.slice(0, 12) ?? '',
    gpuName: gpuName ?? '',
    known: effects.length,
    against: effect === null ? null : 'itself',
    changePercent: effect === null ? null : percentOfLog(effect),
    standing: effect === null ? null : isOff ? direction : 'as before',
    cells: measured.map(({ cell, metric, usual, value }) => {
      return { key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit, value, usual };
    }),
  };
}

/** Two-sided p-value that a value comes from the same distribution as the others (log scale). */
function differenceP(value: number, others: readonly number[]): number {
  const { mean, squares } = momentsOf(others);
  const degrees = PRIOR.degrees + others.length - 1;
  const variance = (PRIOR.degrees * PRIOR.sigma ** 2 + squares) / degrees;
  return twoSidedP((value - mean) / Math.sqrt(variance * (1 + 1 / others.length)), degrees);
}

function judged(measured: Measured | null): Judged {
  if (measured === null) return ['warning', 'no run of the reference is valid', 'bench show latest'];
  const { cells, changePercent, known, standing } = measured;
  const [first] = cells;
  const value = first === undefined ? '' : `${formatNumber(first.value)} ${first.unit}`;
  const what = cells.length === 1 ? value : count(cells.length, 'cell');
  if (changePercent === null) {
    const evidence = `${what}; not compared: ${LEAST} earlier sweeps of this machine are needed`;
    return ['advice', evidence, '# repeat it; bench compare gpu=A gpu=B compares machines'];
  }
  const evidence = `${what}, ${formatPercent(changePercent)} against ${count(known, 'earlier sweep')} of this machine`;
  if (standing !== 'slower') return ['ok', evidence];
  const mend = 'bench ls machines   # compare its driver and TensorRT with before';
  return ['warning', `${evidence}: slower, beyond the variation of those sweeps`, mend];
}

const PATIENCE = { toolMs: 10_000, trtexecMs: 30_000 };

/** `bench doctor`: checks that this machine can measure reliably. */
export async function doctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  if (options.filter !== undefined && (options.measure !== true || options.matrix === undefined)) {
    throw new UsageError('--filter chooses cells for --measure of --matrix FILE: name both');
  }
  const matrix = options.matrix === undefined ? null : readMatrix(options.matrix, io);
  const examined = { storePath: storePath(options.db, io), trtexec: options.trtexec, matrix };
  const facts = await gatherFacts(examined, PATIENCE, io);
  const found = judgeMachine(facts);
  const ready = lackingOf(found).length === 0;
  const health = ready && options.measure === true ? await measureReference(options, io) : null;
  const checks = health === null ? found : [...found, ...health.checks];
  const output: DoctorOutput = { schemaVersion: 1, ready, measured: health?.measured ?? null, checks };
  printResult(io, options, output, (shown, look) => doctorText(shown, facts.isReplay, look));
  return ready ? (health?.exitCode ?? EXIT_CODES.fine) : EXIT_CODES.environmentLacking;
}

type CheckState = DoctorCheck['state'];

/** Sign, meaning and style of each state. */
const STATES = {
  ok: ['✓', 'fine', 'good'],
  advice: ['○', 'could be steadier', 'accent'],
  warning: ['!', 'may distort results', 'warn'],
  failed: ['✗', 'does not work', 'bad'],
  absent: ['–', 'not found', 'dim'],
} as const satisfies Readonly<Record<CheckState, readonly [string, string, keyof Look['style']]>>;

/** @param isReplay recordings answer, so that no GPU is needed */
function doctorText({ checks }: DoctorOutput, isReplay: boolean, look: Look): string[] {
  const width = Math.max(...checks.map(({ title }) => textWidth(title)));
  const groups = Map.groupBy(checks, ({ group }) => group);
  const lines = summary(checks, isReplay, look);
  for (const [group, inside] of groups) {
    lines.push('', look.style.strong(group));
    lines.push(...inside.flatMap((check) => checkLines(check, width, look)));
  }
  return [...lines, '', ...wrapWords(legend(checks), look.columns).map(look.style.dim)];
}

function summary(checks: readonly DoctorCheck[], isReplay: boolean, { style, columns }: Look): string[] {
  const lacking = lackingOf(checks);
  const withState = (state: CheckState): number => checks.filter((check) => check.state === state).length;
  if (lacking.length === 0) {
    const what = isReplay ? 'ready to replay recordings' : 'ready to measure';
    const rest = `${count(withState('warning'), 'warning')}, ${withState('advice')} of advice`;
    return wrapWords(`${what}: ${rest}`, columns).map(style.strong);
  }
  const groups = [...new Set(lacking.map(({ group }) => group))].join(', ');
  const lines = wrapWords(`not ready to measure: see ${groups}`, columns).map(style.bad);
  const isWithoutGpu = lacking.some(({ id }) => /^(?:trtexec|gpu)/.test(id));
  const other =
    'Without trtexec or a GPU bench works on recorded runs: `npm run quickstart` in its repository, or `bench run matrices/quickstart.yaml --replay night1`';
  return isWithoutGpu && otherSystem() === null ? [...lines, ...wrapWords(other, columns)] : lines;
}

function checkLines({ title, state, evidence, mend }: DoctorCheck, width: number, look: Look): string[] {
  const { style, columns } = look;
  const [sign, , inState] = STATES[state];
  const label = `${sign} ${padEnd(title, width)}  `;
  const [first = '', ...more] = labelled(label, printable(evidence), columns);
  const lines = [`${style[inState](label)}${first.slice(label.length)}`, ...more];
  if (mend === null || state === 'ok') return lines;
  const [command = '', remark = ''] = printable(mend).split(REMARK);
  const remarkLines = remark === '' ? [] : wrapWords(remark, columns - 4);
  if (command === '') {
    const [start = '', ...rest] = remarkLines;
    return [...lines, `  ${style.accent('→')} ${start}`, ...rest.map((line) => `    ${line}`)];
  }
  // Never truncate the command, so that it can be copied.
  return [...lines, `  ${style.accent(`→ ${command}`)}`, ...remarkLines.map((line) => style.dim(`    ${line}`))];
}

/** Matches the start of a shell comment. */
const REMARK = /(?:^|\s+)# /;

function legend(checks: readonly DoctorCheck[]): string {
  const shown = Object.entries(STATES).filter(([state]) => checks.some((check) => check.state === state));
  return shown.map(([, [sign, meaning]]) => `${sign} ${meaning}`).join(' · ');
}
