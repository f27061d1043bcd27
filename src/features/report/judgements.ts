import type { Io } from '../../cli/io.ts';
import type { CellKey } from '../../records/scalars.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type CheckedSweep, checkedSweep, isPresent, latestSweep, newFirst, sentences } from '../check/index.ts';
import type { Comparison } from '../compare/index.ts';
import { type CellJudgement, NOT_JUDGED, type ReportedGate } from '../export/index.ts';
import type { ReportOptions } from './command.ts';

/** Judgments by cell key. */
export type Judgements = ReadonlyMap<CellKey, CellJudgement>;

/** The checked sweep for a report without named sides, as in `bench check`. */
export async function newestChecked(
  db: StoreDatabase,
  options: Pick<ReportOptions, 'asOf' | 'branch'>,
  io: Io,
): Promise<CheckedSweep> {
  const { note, sweep } = await latestSweep(db, options, io);
  const checked = await checkedSweep(db, sweep, io, options.asOf !== undefined);
  const { series } = checked;
  return note === null ? checked : { ...checked, series: { ...series, notes: [note, ...series.notes] } };
}

/** @param metric null for the compared metric of each cell; cells are omitted if the gate does not judge the metric */
export function judgedCells({ findings: all, judged }: CheckedSweep, metric: MetricId | null): Judgements {
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

export function comparedCells({ cells }: Pick<Comparison, 'cells'>): Judgements {
  return new Map(cells.map((cell) => [cell.key, { ...NOT_JUDGED, kind: 'compared', ...cell }]));
}

/** @param isShown whether a report of selected cells includes a finding */
export function gateOf(
  { judged, series, standing }: CheckedSweep,
  isShown: (finding: CheckedSweep['findings'][number]) => boolean,
): ReportedGate {
  const reported = newFirst([...standing.slower, ...standing.limits]).filter(isShown);
  const findings = reported.map((finding) => {
    const { about, title } = sentences(finding, judged.evidence);
    return { id: finding.id, state: finding.state, text: `${about}: ${title}` };
  });
  return { headline: series.headline, findings };
}
