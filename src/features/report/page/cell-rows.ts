import { median } from '../../../statistics/median.ts';
import { verdictText } from '../../check/index.ts';
import { reasonWords } from '../../../terminal/words.ts';
import type { MetricTable, ReportData } from './report-data.ts';

type TableCell = MetricTable['cells'][number];
type Finding = ReportData['check']['findings'][number];
type Change = Finding['details'][number];

/** A row of the table of cells. */
export interface Row extends Pick<Judged, 'ciPercent'> {
  readonly report: TableCell;
  readonly findings: readonly FoundInCell[];
  /** Null where nothing is said of it. */
  readonly verdict: string | null;
  /** In percent; positive is a larger value, not always a slower one. */
  readonly changePercent: number | null;
  /** What it is compared with: reference level, or value of the base. */
  readonly before: number | null;
  /** Why there is no verdict. */
  readonly reasons: readonly string[];
  /** The order of the table: the larger, the worse. */
  readonly badness: number;
}

type Judged = Exclude<TableCell['judgement'], { readonly kind: 'values' }>;

export interface FoundInCell {
  readonly finding: Finding;
  readonly change: Change;
}

/** What a verdict weighs before the size of its change does. */
const WEIGHTS: Readonly<Record<string, number>> = { slower: 4, failed: 2, missing: 2, 'no result': 2, faster: 1 };
/** Of a cell that is worse in another metric only. */
const WORSE_OTHERWISE = 3;
const WEIGHT = 1e9;

/** The worst first. */
export function rowsOf({ cells }: MetricTable, { check, compare }: ReportData): Row[] {
  const rows = cells.map((report): Row => {
    const { judgement } = report;
    const findings = lastingIn(report, check.findings);
    // Where two sides were named it is about them.
    const isWorse = compare === null && findings.some(({ finding }) => finding.direction === 'slower');
    const said = judgement.kind === 'values' ? NOTHING : judgement;
    const verdict = judgement.kind === 'judged' ? verdictText(judgement) : said.verdict;
    const weight = Math.max(WEIGHTS[verdict ?? ''] ?? 0, isWorse ? WORSE_OTHERWISE : 0);
    const { base: before, changePercent, ciPercent } = said;
    return {
      report,
      findings,
      verdict,
      changePercent,
      before,
      ciPercent,
      reasons: said.reasons.map(reasonWords),
      badness: weight * WEIGHT + Math.min(Math.abs(changePercent ?? 0), WEIGHT / 2),
    };
  });
  return rows.toSorted((a, b) => b.badness - a.badness);
}

const NOTHING = { verdict: null, base: null, changePercent: null, ciPercent: null, reasons: [] };

/** Of the first table, which is by the cells' own metric; by key. */
export function ownRows(data: ReportData): ReadonlyMap<string, Row> {
  const rows = data.tables.slice(0, 1).flatMap((table) => rowsOf(table, data));
  return new Map(rows.map((row) => [row.report.cell.key, row]));
}

export function isChange({ verdict }: Row): boolean {
  return verdict === 'slower' || verdict === 'faster';
}

/** The level before a change of the cell, else that since its last one. */
export function levelOf({ marks, values }: TableCell, row: Row | undefined): number | null {
  if (row !== undefined && isChange(row) && row.before !== null) return row.before;
  const last = marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? 0;
  return median(values.slice(last).flatMap((sweep) => sweep?.value ?? []));
}

/** Findings that are there, each with its change of the cell: in its metric where there is one. */
function lastingIn({ cell: { key }, metric }: TableCell, findings: readonly Finding[]): FoundInCell[] {
  return findings.flatMap((finding): FoundInCell[] => {
    if (finding.state === 'recovered') return [];
    const changes = finding.details.filter((one) => one.key === key);
    const change = changes.find((one) => one.metric === metric) ?? changes[0];
    return change === undefined ? [] : [{ finding, change }];
  });
}
