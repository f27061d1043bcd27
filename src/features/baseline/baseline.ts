import * as z from 'zod';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { ineligibleFlags, FLAG_LABELS, isIneligible } from '../../records/run-flag.ts';
import { count } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { listBaselines, removeBaseline, setBaseline } from '../../store/sweeps/sweeps.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type Io, printResult } from '../../cli/io.ts';
import type { Look } from '../../terminal/look.ts';
import { resolveSide } from '../../selection/sides.ts';
import { withStore, withStoreToWrite } from '../../cli/with-store.ts';
import type { BaselineOptions } from './command.ts';
import { id, instant, output, type OutputOf } from '../../records/output-parts.ts';
import type { SweepId } from '../../records/scalars.ts';

const NAME = /^[\w.+-][\w.+/-]{0,99}$/;

export async function setNamed(
  name: string,
  ref: string | undefined,
  options: BaselineOptions,
  io: Io,
): Promise<ExitCode> {
  ensure(NAME.test(name), `${printable(name)}: a baseline's name has letters, digits and . _ + - / only`);
  return withStoreToWrite(options, io, async (store): Promise<ExitCode> => {
    const head = await resolveSide(store.db, ref ?? 'latest', io);
    const [sweep] = head.sweeps;
    if (sweep === undefined) throw new UsageError(`${printable(ref ?? 'latest')} has no sweep`);
    const runs = cellRunsOf(store.db, [sweep.sweepId]);
    const marked = runs.filter(({ flags }) => flags.some(({ id: flag }) => flag === 'debugTensors')).length;
    const short = sweep.sweepId.slice(0, 8);
    const debug = `${count(marked, 'run')} with debug tensors (--markDebug, --saveDebugTensors and the like)`;
    ensure(marked === 0, `sweep ${short} has ${debug}, which falsify times: it cannot be a baseline`);
    const named = listBaselines(store.db).find((baseline) => baseline.name === name);
    if (named !== undefined && named.sweepId !== sweep.sweepId) {
      const since = `sweep ${named.sweepId.slice(0, 8)} since ${named.createdAt.slice(0, 10)}`;
      ensure(options.force === true, `baseline ${name} names ${since}: --force replaces it`);
    }
    if (head.note !== null) io.err(`note: ${head.note}\n`);
    refuseIneligible(runs, sweep.sweepId, io);
    const { reason = null } = options;
    const baseline = { name, sweepId: sweep.sweepId, reason, createdAt: io.now().toISOString() };
    setBaseline(store.db, baseline);
    return printResult<BaselinesOutput>(io, options, { schemaVersion: 1, baselines: [baseline] }, () => [
      `baseline ${name} is sweep ${short}: bench compare baseline:${name}`,
    ]);
  });
}

/**
 * Warns about cells whose runs are all ineligible, because they are not part of a baseline. Rejects a sweep that has no
 * others.
 */
function refuseIneligible(runs: readonly CellRun[], sweepId: SweepId, io: Io): void {
  const byCell = [...Map.groupBy(runs.filter(isMeasured), ({ cellKey }) => cellKey).values()];
  const ineligible = byCell.filter((cell) => cell.every(({ flags }) => isIneligible(flags)));
  const [first] = ineligible.flat().flatMap(({ flags }) => ineligibleFlags(flags));
  if (first === undefined) return;
  const why = `${FLAG_LABELS[first.id]}: ${printable(first.evidence)}`;
  const isAll = ineligible.length === byCell.length;
  ensure(!isAll, `sweep ${sweepId.slice(0, 8)} cannot be a baseline: ${why}`);
  const them = count(ineligible.length, 'cell is', 'cells are');
  io.err(`note: ${them} not part of the baseline: ${why}\n`);
}

export function listAll(options: BaselineOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store): ExitCode => {
    return printResult(io, options, { schemaVersion: 1, baselines: listBaselines(store.db) }, listText);
  });
}

function listText({ baselines }: BaselinesOutput, look: Look): string[] {
  if (baselines.length === 0) return ['no baseline: `bench baseline set NAME` pins the newest sweep'];
  return renderTable<BaselinesOutput['baselines'][number]>(
    [
      { header: 'baseline', text: (row) => printable(row.name), minWidth: 8 },
      { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
      { header: 'set', text: ({ createdAt }) => createdAt.slice(0, 10) },
      { header: 'reason', text: ({ reason }) => printable(reason ?? ''), minWidth: 10, isSentence: true },
    ],
    baselines,
    look,
  );
}

export function removeNamed(name: string, options: BaselineOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, (store): ExitCode => {
    const removed = listBaselines(store.db).filter((baseline) => baseline.name === name);
    if (!removeBaseline(store.db, name)) throw new UsageError(`baseline ${printable(name)} not found`);
    return printResult<BaselinesOutput>(io, options, { schemaVersion: 1, baselines: removed }, () => [
      `baseline ${printable(name)} is removed; its sweep is kept`,
    ]);
  });
}

const baseline = z.strictObject({ name: z.string(), sweepId: id, reason: z.string().nullable(), createdAt: instant });
export const baselinesOutput = output('bench ls baselines|set|rm --json: the affected baselines', {
  baselines: z.array(baseline),
});

type BaselinesOutput = OutputOf<typeof baselinesOutput>;
