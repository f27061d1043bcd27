import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { saidState } from '../../records/finding.ts';
import { groupText, newestBatch } from '../check/index.ts';
import { findCells } from '../../store/cells.ts';
import { acknowledgementsOf, listFindings } from '../../store/sweeps/findings.ts';
import { seriesOf, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { renderTable, numberColumn, textColumn } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import { labelIn } from '../../text/cell-label.ts';
import type { FindingsOptions } from './command.ts';
import type { FindingsOutput } from './output.ts';

type ListedFinding = FindingsOutput['findings'][number];

export function listStoredFindings(options: FindingsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, ({ db }) => {
    const found = listFindings(db, options.last);
    const ids = found.map(({ findingId }) => findingId);
    const marks = acknowledgementsOf(db, ids);
    const cells = findCells(db, [...new Set(found.flatMap((finding) => finding.cells.map(({ cellKey }) => cellKey)))]);
    const sweeps = sweepsById(db, [...new Set(found.map(({ reportedSweepId }) => reportedSweepId))]);
    const startOf = new Map(sweeps.map(({ startedAt, sweepId }) => [sweepId, startedAt]));
    const series = Map.groupBy(found, ({ branch, matrix, provenance }) => JSON.stringify([branch, matrix, provenance]));
    const batch = new Set(
      [...series.values()].flatMap(([first]) =>
        first === undefined ? [] : [...newestBatch(db, seriesOf(db, first, 1)[0])],
      ),
    );
    const findings = found.map((finding): ListedFinding => {
      const { findingId: id, kind, direction, isWarning, matrix, branch, provenance, group } = finding;
      const keys = [...new Set(finding.cells.map(({ cellKey }) => cellKey))];
      const mark = marks.get(id);
      return {
        id,
        state: saidState(finding, mark !== undefined, batch),
        kind,
        direction,
        isWarning,
        matrix,
        branch,
        provenance,
        group,
        acknowledged: mark !== undefined,
        owner: mark?.owner ?? finding.owner,
        cells: keys,
        labels: keys.map((key) => labelIn(cells, key)),
        metrics: [...new Set(finding.cells.map(({ metric }) => metric))],
        reportedSweepId: finding.reportedSweepId,
        reportedAt: startOf.get(finding.reportedSweepId) ?? null,
      };
    });
    const output: FindingsOutput = { schemaVersion: 2, findings };
    return printResult(io, options, output, (_, look) => findingsText(findings, io.now(), look));
  });
}

function findingsText(findings: readonly ListedFinding[], now: Date, look: Look): string[] {
  if (findings.length === 0) return ['no finding is stored: `bench check` judges the sweeps'];
  return renderTable<ListedFinding>(
    [
      { header: 'finding', text: ({ id }) => id.slice(0, 8) },
      { header: 'state', text: ({ state }) => state },
      { header: 'what', text: ({ direction, kind }) => (kind === 'limit' ? 'limit' : direction), dropRank: 2 },
      numberColumn('age', ({ reportedAt }) => ageText(reportedAt, now), 3),
      { header: 'owner', text: ({ owner }) => printable(owner ?? ''), dropRank: 4 },
      textColumn('matrix', ({ branch, matrix }) => printable([matrix, branch].filter(Boolean).join(' · ')), 6),
      textColumn('metrics', ({ metrics }) => metrics.map((id) => printable(gatedMetricOf(id).label)).join(', '), 5, {
        minWidth: 12,
      }),
      { header: 'cells', text: cellsText, minWidth: 12 },
    ],
    findings,
    look,
  );
}

function cellsText({ group, labels }: ListedFinding): string {
  if (labels.length === 1) return printable(labels[0] ?? '');
  return `${count(labels.length, 'cell')}${group.length === 0 ? '' : `, ${groupText(group)}`}`;
}

const DAY_MS = 86_400_000;

function ageText(instant: string | null, now: Date): string {
  if (instant === null) return '';
  return count(Math.max(0, Math.floor((now.getTime() - Date.parse(instant)) / DAY_MS)), 'day');
}
