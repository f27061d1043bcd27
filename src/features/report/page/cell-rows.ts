import { type Markup, markup } from '../../../html/markup.ts';
import { median } from '../../../statistics/median.ts';
import { verdictText } from '../../check/index.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { cellColumns } from '../../../terminal/cell-columns.ts';
import { scalePercent, type SparkScale } from '../../../terminal/charts/sparkline.ts';
import { reasonWords } from '../../../terminal/words.ts';
import type { ReportCell, ReportData } from './report-data.ts';

type Finding = ReportData['check']['findings'][number];
type Change = Finding['details'][number];

/** A row of the table of cells. */
export interface Row extends Pick<Judged, 'ciPercent'> {
  readonly report: ReportCell;
  readonly findings: readonly FoundInCell[];
  /** Null without a judgment. */
  readonly verdict: string | null;
  /** In percent. Positive is a larger value, which is not always slower. */
  readonly changePercent: number | null;
  /** Reference level, or value of the base. */
  readonly before: number | null;
  /** Why there is no verdict. */
  readonly reasons: readonly string[];
  /** Sort key of the table: larger is worse. */
  readonly badness: number;
}

type Judged = Exclude<ReportCell['judgement'], { readonly kind: 'values' }>;

export interface FoundInCell {
  readonly finding: Finding;
  readonly change: Change;
}

/** Weights of verdicts, which precede the size of the change. */
const WEIGHTS: Readonly<Record<string, number>> = { slower: 4, failed: 2, missing: 2, 'no result': 2, faster: 1 };
/** Weight of a cell that is worse only in another metric. */
const WORSE_OTHERWISE = 3;
const WEIGHT = 1e9;

/** Worst first. */
export function rowsOf({ cells, check, compare }: ReportData): Row[] {
  const rows = cells.map((report): Row => {
    const { judgement } = report;
    const findings = lastingIn(report, check.findings);
    // With two named sides, the order follows their comparison.
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

/** By cell key. */
export function rowsByKey(data: ReportData): ReadonlyMap<string, Row> {
  return new Map(rowsOf(data).map((row) => [row.report.cell.key, row]));
}

export function isChange({ verdict }: Row): boolean {
  return verdict === 'slower' || verdict === 'faster';
}

/** The level before a change of the cell, else the level since its last change. */
function levelOf({ marks, values }: ReportCell, row: Row | undefined): number | null {
  if (row !== undefined && isChange(row) && row.before !== null) return row.before;
  const last = marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? 0;
  return median(values.slice(last).flatMap((value) => value ?? []));
}

/** Present findings with their change of the cell: in its own metric if there is one. */
function lastingIn({ cell: { key }, metric }: ReportCell, findings: readonly Finding[]): FoundInCell[] {
  return findings.flatMap((finding): FoundInCell[] => {
    if (finding.state === 'recovered') return [];
    const changes = finding.details.filter((one) => one.key === key);
    const change = changes.find((one) => one.metric === metric) ?? changes[0];
    return change === undefined ? [] : [{ finding, change }];
  });
}

/** Larger changes are clipped and marked, because they would flatten all others. */
const MOST_PERCENT = 10;

/**
 * Sparklines of the newest sweeps of each row, on a scale around its level. All rows share the scale, and `percent` is
 * the value at both ends.
 */
export function cellSparks(data: ReportData) {
  const changes = rowsOf(data)
    .filter(isChange)
    .map(({ changePercent }) => changePercent);
  const percent = Math.min(MOST_PERCENT, scalePercent(changes));
  const of = (row: Row) => sparkline(row.report.values, { level: levelOf(row.report, row), percent });
  return { percent, of };
}

export type CellWords = ReturnType<typeof cellWords>;

/**
 * The columns that name a cell, with the texts of each row. The caption states once what all cells share, as in
 * terminal tables.
 */
export function cellWords(cells: readonly KeyedCell[]) {
  const { columns: all, caption } = cellColumns(cells, (cell) => cell);
  // The page contains the key of every cell.
  const columns = all.filter(({ onlyIfAmbiguous }) => onlyIfAmbiguous !== true);
  return {
    headers: columns.map(({ header }) => header),
    caption,
    wordsOf: (cell: KeyedCell) => columns.map(({ text }) => text(cell)),
  };
}

/** Number of newest sweeps in a sparkline. */
export const SPARK_SWEEPS = 60;

/** In units of the SVG image, which is drawn at half its size. */
const WIDTH = 240;
const HEIGHT = 48;
const MARGIN = 4;
const MIDDLE = HEIGHT / 2;

/**
 * The newest values as a thin line on a scale that rows share. Gaps stay gaps, and a mark at the edge shows a value
 * beyond the scale.
 */
function sparkline(values: readonly (number | null)[], { level, percent }: Omit<SparkScale, 'isAscii'>): Markup {
  const newest = values.slice(-SPARK_SWEEPS);
  const known = newest.filter((value) => value !== null);
  const middle = level ?? median(known);
  if (known.length < 2 || middle === null || middle === 0) return markup`<span class="none">–</span>`;
  const step = (WIDTH - 2 * MARGIN) / (newest.length - 1);
  let line = '';
  let beyond = '';
  let side: number | null = null;
  let [fromX, fromY] = [0, 0];
  for (const [place, value] of newest.entries()) {
    const height = value === null ? null : (value / middle - 1) / (percent / 100);
    const x = Math.round(MARGIN + place * step);
    if (height !== null) {
      const y = Math.round(MIDDLE - Math.max(-1, Math.min(1, height)) * (MIDDLE - MARGIN));
      // Relative coordinates, because a page has thousands of points.
      const [across, down] = [x - fromX, y - fromY];
      // With only two values, the course between them is unknown, so draw a step.
      const on = known.length === 2 ? `h${across / 2}v${down}h${across / 2}` : `l${across} ${down}`.replace(' -', '-');
      line += side === null ? `M${x} ${y}h0` : on;
      [fromX, fromY] = [x, y];
    }
    const next = height === null ? null : Math.abs(height) > 1 ? Math.sign(height) : 0;
    if (next !== null && next !== 0 && next !== side) beyond += `M${x - 5} ${MIDDLE - next * 14}h10l-5 ${-10 * next}z`;
    side = next;
  }
  return markup`<svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true"><path d="${line}"/>${beyond === '' ? null : markup`<path class="beyond" d="${beyond}"/>`}</svg>`;
}
