import * as z from 'zod';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import { printable, shortList } from '../../text/printable.ts';
import { isIneligible } from '../../records/outcome.ts';
import { count } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { acknowledgementsOf } from '../../store/sweeps/findings.ts';
import { listBaselines, removeBaseline, setBaseline } from '../../store/sweeps/sweeps.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type Io, printResult } from '../../cli/io.ts';
import type { Look } from '../../terminal/look.ts';
import { resolveSide } from '../../selection/sides.ts';
import { withStore, withStoreToWrite } from '../../cli/with-store.ts';
import type { BaselineOptions } from './command.ts';
import { id, instant, output, type OutputOf } from '../../records/output-parts.ts';

/** Two dots would be a range, and a dash in front an option. */
const NAME = /^(?!.*\.\.)[\w.+][\w.+/-]{0,99}$/;

export async function setNamed(
  name: string,
  ref: string | undefined,
  options: BaselineOptions,
  io: Io,
): Promise<ExitCode> {
  ensure(NAME.test(name), `${printable(name)}: a baseline's name has letters, digits, . _ + - /; no .., no - first`);
  return withStoreToWrite(options, io, async (store): Promise<ExitCode> => {
    const head = await resolveSide(store.db, ref ?? 'latest', io);
    const [sweep] = head.sweeps;
    if (sweep === undefined) throw new UsageError(`${printable(ref ?? 'latest')} has no sweep`);
    const short = sweep.sweepId.slice(0, 8);
    const named = listBaselines(store.db).find((baseline) => baseline.name === name);
    if (named !== undefined && named.sweepId !== sweep.sweepId) {
      const since = `sweep ${named.sweepId.slice(0, 8)} since ${named.createdAt.slice(0, 10)}`;
      ensure(options.force === true, `baseline ${name} names ${since}: --force replaces it`);
    }
    if (head.note !== null) io.err(`note: ${head.note}\n`);
    refuseUnfit(cellRunsOf(store.db, [sweep.sweepId]), short, io);
    await refuseRegressed(store.db, sweep, options.force === true, io);
    const { reason = null } = options;
    const baseline = { name, sweepId: sweep.sweepId, reason, createdAt: io.now().toISOString() };
    setBaseline(store.db, baseline);
    return printResult<BaselinesOutput>(io, options, { schemaVersion: 1, baselines: [baseline] }, () => [
      `baseline ${name} is sweep ${short}: bench compare baseline:${name}`,
    ]);
  });
}

/** Warns about cells without a run that may be a baseline. Rejects a sweep that has no others. */
function refuseUnfit(runs: readonly CellRun[], sweep: string, io: Io): void {
  const byCell = [...Map.groupBy(runs, ({ cellKey }) => cellKey).values()];
  const unfit = byCell.filter((cell) => !cell.some((run) => isMeasured(run) && !isIneligible(run.flags))).length;
  const why = `no run that counts (see \`bench show ${sweep}\`)`;
  ensure(unfit < byCell.length, `sweep ${sweep} cannot be a baseline: ${why}`);
  if (unfit > 0) io.err(`note: ${count(unfit, 'cell is', 'cells are')} not part of the baseline: ${why}\n`);
}

/** Rejects a sweep that the gate fails, or notes that if forced: a baseline hides its regressions from then on. */
async function refuseRegressed(db: StoreDatabase, sweep: Sweep, isForced: boolean, io: Io): Promise<void> {
  const { checkedSweep } = await import('../check/index.ts');
  const { standing } = await checkedSweep(db, sweep, io, { onlyNewest: true });
  const failing = [...standing.slower, ...standing.limits];
  const ids = failing.map((finding) => finding.id);
  const marked = acknowledgementsOf(db, ids);
  const open = failing.filter((finding) => !marked.has(finding.id));
  const names = open.map((finding) => `${finding.id.slice(0, 8)} (${shortList(finding.labels.map(printable), 1)})`);
  const why = `${count(open.length, 'finding')} not acknowledged: ${shortList(names, 5)}`;
  const refusal = `sweep ${sweep.sweepId.slice(0, 8)} cannot be a baseline: ${why}`;
  ensure(open.length === 0 || isForced, `${refusal}; \`bench check\` and \`bench ack\`, or --force`);
  if (open.length > 0) io.err(`note: ${why}\n`);
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
      { header: 'reason', text: ({ reason }) => printable(reason ?? ''), minWidth: 10 },
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
