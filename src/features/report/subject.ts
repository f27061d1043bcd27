import type { Io } from '../../cli/io.ts';
import type { CellKey } from '../../records/scalars.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { NotMeasuredError, resolveSide, resolveSides, type Side } from '../../selection/sides.ts';
import { type CheckedSweep, checkedSweep, isPresent, latestSweep, nameOf, otherSeries } from '../check/index.ts';
import { compareReport, shiftText } from '../compare/index.ts';
import { type CellJudgement, NOT_JUDGED } from '../export/index.ts';
import type { ReportOptions } from './command.ts';

type SubjectOptions = Pick<ReportOptions, 'asOf' | 'branch' | 'filter' | 'metric' | 'upgrade'>;

/** What a report is about: a sweep as `bench check` judges it, or two sides; only HEAD if BASE was not measured. */
export type Subject = Awaited<ReturnType<typeof subjectOf>>;

/** @param named null for the newest sweep; without HEAD the checkout, as in `bench compare BASE` */
export async function subjectOf(
  db: StoreDatabase,
  named: { readonly base: string; readonly head: string | undefined } | null,
  options: SubjectOptions,
  io: Io,
) {
  if (named === null) {
    const checked = await newestChecked(db, options, io);
    const head: Side = { ref: options.asOf ?? 'latest', sweeps: [checked.judged.series.sweep], note: null };
    return { checked, compared: null, base: null, head, notes: checked.series.notes };
  }
  const { branch, upgrade } = options;
  try {
    const sides = await resolveSides(db, named.base, named.head, io, { branch });
    const across = upgrade === true ? { ...options, acrossTensorrt: upgrade } : options;
    const compared = await compareReport(db, sides, across);
    const { across: differences, shift } = compared.output;
    const notes = [sides.base.note, sides.head.note, ...differences, shift === null ? null : shiftText(shift)];
    return { checked: null, compared, ...sides, notes: notes.filter((note) => note !== null) };
  } catch (error) {
    if (!(error instanceof NotMeasuredError) || named.head === undefined || upgrade === true) throw error;
    const head = await resolveSide(db, named.head, io, { branch });
    return { checked: null, compared: null, base: null, head, notes: [`not compared: ${error.message}`] };
  }
}

/** The checked sweep for a report without named sides, as in `bench check`. */
export async function newestChecked(
  db: StoreDatabase,
  options: { readonly asOf?: string | undefined; readonly branch?: string | undefined },
  io: Io,
) {
  const { note, sweep } = await latestSweep(db, options, io);
  const checked = await checkedSweep(db, sweep, io, options.asOf !== undefined);
  const others = options.asOf === undefined ? await otherSeries(db, sweep, options.branch, io) : [];
  const { series } = checked;
  const notes = [note ?? [], others.map((other) => `${nameOf(other)}: ${other.series.headline}`), series.notes].flat();
  return { ...checked, others, series: { ...series, notes } };
}

/** Judgments by cell key. @param metric null for the compared metric of each cell */
export function judgementsOf(
  { checked, compared }: Pick<Subject, 'checked' | 'compared'>,
  metric: MetricId | null,
): ReadonlyMap<CellKey, CellJudgement> {
  if (checked !== null) return judgedCells(checked, metric);
  const cells = compared?.output.cells ?? [];
  return new Map(cells.map((cell) => [cell.key, { ...NOT_JUDGED, kind: 'compared', ...cell }]));
}

/** Omits cells if the gate does not judge the metric. */
function judgedCells({ findings: all, judged }: CheckedSweep, metric: MetricId | null) {
  const { evidence, verdict } = judged;
  const cells =
    metric === null
      ? verdict.cells
      : evidence.cells.flatMap(
          ({ cell }) => verdict.judgedOf({ cellKey: cell.key, metric: gateMetric(metric, cell) }) ?? [],
        );
  const present = all.filter((finding) => isPresent(finding) && finding.kind !== 'limit');
  return new Map(
    cells.map(({ before, cellKey, now, notes, ...said }): [CellKey, CellJudgement] => {
      const own = present.filter(({ details }) =>
        details.some((change) => change.key === cellKey && change.metric === said.metric),
      );
      // Without the details of all their cells, which each cell would repeat.
      const findings = own.map(({ id, isWarning, state }) => ({ id, isWarning, state }));
      const levels = { base: before, head: now, reasons: notes, findings };
      return [cellKey, { ...NOT_JUDGED, kind: 'judged', ...said, ...levels }];
    }),
  );
}
