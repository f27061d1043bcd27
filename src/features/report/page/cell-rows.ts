import { median } from '../../../statistics/median.ts';
import { reasonWords } from '../../../terminal/words.ts';
import type { MetricTable, ReportData } from './report-data.ts';

type TableCell = MetricTable['cells'][number];
type Finding = ReportData['check']['findings'][number];
type Change = Finding['details'][number];

/** A row of the table of cells. */
export interface Row {
  readonly report: TableCell;
  readonly findings: readonly FoundInCell[];
  /** That of which it shows the change. */
  readonly found: FoundInCell | undefined;
  /** Null where there is nothing to compare with. */
  readonly verdict: string | null;
  /** In percent; positive is a larger value, not always a slower one. */
  readonly changePercent: number | null;
  /** The level before a change of a finding, or of two sides where they are all there is to go by; else null. */
  readonly before: number | null;
  readonly ciPercent: readonly [number, number] | null;
  /** Why there is no verdict. */
  readonly reasons: readonly string[];
  /** The order of the table: the larger, the worse. */
  readonly badness: number;
}

export interface FoundInCell {
  readonly finding: Finding;
  readonly change: Change;
}

/** What a verdict weighs before the size of its change does. */
const WEIGHTS: Readonly<Record<string, number>> = { slower: 4, failed: 2, missing: 2, faster: 1 };
/** Of a cell that is worse in another metric only. */
const WORSE_OTHERWISE = 3;
const WEIGHT = 1e9;

/** The worst first. */
export function rowsOf({ cells, compare, sinceGood }: MetricTable, { check, isOfSides }: ReportData): Row[] {
  const compared = new Map((compare?.cells ?? []).map((entry) => [entry.key, entry]));
  const failed = new Set(check.series.cells.filter(({ status }) => status === 'failed').map(({ key }) => key));
  const isCompared = isOfSides || check.series.judgedBy !== 'history';
  const good = new Map(sinceGood.map((entry) => [`${entry.findingId} ${entry.key}`, entry]));
  const rows = cells.map((report): Row => {
    const { key } = report.cell;
    const findings = lastingIn(report, check.findings);
    // Where two sides were named it is about them.
    const judged = isOfSides ? [] : findings;
    const own = judged.filter(({ change, finding }) => finding.kind !== 'limit' && change.metric === report.metric);
    const found = own.find(({ finding }) => finding.direction === 'slower') ?? own[0];
    const since = good.get(`${(found ?? judged[0])?.finding.id} ${key}`);
    const entry = since ?? compared.get(key);
    const verdict = found?.finding.direction ?? entry?.verdict ?? (failed.has(key) ? 'failed' : null);
    const { changePercent = null } = found?.change ?? entry ?? {};
    const isWorse = judged.some(({ finding }) => finding.direction === 'slower');
    const weight = Math.max(WEIGHTS[verdict ?? ''] ?? 0, isWorse ? WORSE_OTHERWISE : 0);
    return {
      report,
      findings,
      found,
      verdict,
      changePercent,
      before: found?.change.before ?? (isCompared ? (compared.get(key)?.base ?? null) : null),
      ciPercent: found?.change.ciPercent ?? (found === undefined ? entry : since)?.ciPercent ?? null,
      reasons: judged.length === 0 ? (compared.get(key)?.reasons ?? []).map(reasonWords) : [],
      badness: weight * WEIGHT + Math.min(Math.abs(changePercent ?? 0), WEIGHT / 2),
    };
  });
  return rows.toSorted((a, b) => b.badness - a.badness);
}

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

/** Lasting findings, each with its change of the cell: in its metric where there is one. */
function lastingIn({ cell: { key }, metric }: TableCell, findings: readonly Finding[]): FoundInCell[] {
  return findings.flatMap((finding): FoundInCell[] => {
    if (finding.state !== 'confirmed' && finding.state !== 'open') return [];
    const changes = finding.details.filter((one) => one.key === key);
    const change = changes.find((one) => one.metric === metric) ?? changes[0];
    return change === undefined ? [] : [{ finding, change }];
  });
}
