import { type Io, printResult } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import type { SweepEvidence } from '../../judge/gate/evidence.ts';
import { valuesByPlace } from '../../judge/geometric-mean.ts';
import { acceptedText, type Finding } from '../../records/finding.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { gateMetric } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { acknowledgementsOf } from '../../store/sweeps/findings.ts';
import { canConfirm } from '../../store/sweeps/sweeps.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import { type Look, plain, dotted, labelled, wrapHanging, wrapWords } from '../../terminal/look.ts';
import { count, meanChangeText, meanText } from '../../terminal/numbers.ts';
import { describeCommit, reasonWords } from '../../terminal/words.ts';
import { printable, shortList } from '../../text/printable.ts';
import { type CellRow, cellRows, countsText, findingChart, hasMoved, worstFirst } from './cell-pictures.ts';
import { type CheckedSweep, standingOf, worstSeriesFirst } from './checked.ts';
import { checkedFindings, isShownWhole, newFirst } from './findings.ts';
import { judgedSweep, newestBatch } from './gather.ts';
import { type CheckedFinding, type CheckedSeries, type ShownFinding } from './output.ts';
import { type Resumable, changeText, firstOfEach, levelText, isOfSpeed, nextCommands, sentences } from './sentences.ts';

export interface ShownSeries extends Pick<CheckedSweep, 'findings' | 'series'> {
  readonly judged: Pick<CheckedSweep['judged'], 'evidence' | 'isStored' | 'verdict'> | null;
}

export function closingText({ series }: Pick<CheckedSweep, 'series'>, look: Look, of: string = ''): string[] {
  return headlineLines(series, `bench check${of === '' ? '' : ` of ${of}`}: ${series.headline}`, look);
}

/** One line per series, the worst first, followed by the worst series in full or by all of them. */
export function checkText(all: readonly ShownSeries[], isAll: boolean, look: Look): string[] {
  const sorted = worstSeriesFirst(all);
  if (sorted.length === 1) return sorted.flatMap((only) => seriesText(only, isAll, only.series.headline, look));
  // Of a series that is the same, or has only one sweep, the headline says everything.
  const brief = isAll ? ['stale'] : ['stale', 'same', 'first'];
  const worth = sorted.filter(({ series }) => !brief.includes(series.verdict));
  const shown = isAll ? worth : worth.slice(0, 1);
  return [
    ...sorted.flatMap((one) => headlineLines(one.series, `${nameOf(one, all)}: ${one.series.headline}`, look)),
    ...shown.flatMap((one) => ['', ...seriesText(one, isAll, nameOf(one, all), look)]),
    ...(worth.length > shown.length ? ['', ...dimmed(['all details: bench check --all'], look)] : []),
  ];
}

/** The name of a series, `nightly · main`, with the provenance and the GPU if the series have several. */
export function nameOf({ series }: Pick<ShownSeries, 'series'>, all: readonly Pick<ShownSeries, 'series'>[]): string {
  const { branch, gpu, matrix, provenance } = series;
  const isOne = (of: 'gpu' | 'provenance'): boolean => all.every((one) => one.series[of] === series[of]);
  const apart = [isOne('provenance') ? '' : provenance, isOne('gpu') ? '' : (gpu ?? 'unknown GPU')];
  return printable(dotted([matrix ?? 'no matrix', branch ?? 'no branch', ...apart]));
}

function headlineLines({ verdict }: CheckedSeries, text: string, { columns, style }: Look): string[] {
  const paint = verdict === 'slower' || verdict === 'limit' ? style.bad : plain;
  const paintLine = (line: string): string => (verdict === 'stale' ? style.dim(line) : paint(style.strong(line)));
  return wrapHanging(printable(text), columns, 2).map(paintLine);
}

function dimmed(texts: readonly string[], { columns, style }: Look): string[] {
  return texts.flatMap((text) => wrapHanging(text, columns, 2)).map(style.dim);
}

function seriesText({ findings, judged, series }: ShownSeries, isAll: boolean, headline: string, look: Look): string[] {
  if (judged === null) return headlineLines(series, headline, look);
  const { evidence, isStored, verdict } = judged;
  const rows = series.cells.flatMap((row): CellRow[] => {
    const own = verdict.measured({ cellKey: row.key, metric: row.metric });
    return own ? [{ ...row, cell: own.of.cell, values: valuesByPlace(own.history, evidence.sweeps.length) }] : [];
  });
  const whole = newFirst(findings.filter(isShownWhole));
  const full = isAll ? whole : whole.slice(0, 1);
  const others = whole.slice(full.length).flatMap((one) => titleLines(one, sentences(one, evidence).title, look));
  const earlier = findings.filter((finding) => !isShownWhole(finding));
  const isFirst = series.judgedBy === 'first';
  const notes = series.notes.flatMap((note) => wrapWords(note, look.columns));
  return [
    ...headlineLines(series, headline, look),
    ...dimmed([aboutText(series, evidence)], look),
    ...(isFirst ? [] : countsText(rows, meanLine(series, rows), look, slowerElsewhere(rows, findings))),
    ...(isFirst && findings.length === 0 ? dimmed([FIRST], look) : []),
    ...full.flatMap((finding) => ['', ...findingText(finding, { ...series, isStored }, evidence, look)]),
    ...(others.length === 0 ? [] : ['', ...others, ...dimmed(['all details: bench check --all'], look)]),
    ...earlierText(earlier, evidence, look),
    ...cellsText(rows, isAll, look),
    ...reasonText(series, isAll ? Infinity : SHOWN_CELLS, look),
    ...(notes.length === 0 ? [] : ['', ...notes.map(look.style.dim)]),
  ];
}

/** `geometric mean +1.2 % (1.0 to 1.4)`, with its metric where some rows are in another one. */
function meanLine({ geometricMean: mean }: CheckedSeries, rows: readonly CellRow[]): string | null {
  if (mean === null) return null;
  const other = rows.find(({ cell, metric }) => metric !== gateMetric(null, cell));
  const of = other === undefined ? '' : `${gatedMetricOf(gateMetric(null, other.cell)).label}: `;
  return `${of}geometric mean ${(mean.leftOut === 0 ? meanChangeText : meanText)(mean)}`;
}

/** Number of cells that are the same in the metric of their row and slower in another one. */
function slowerElsewhere(rows: readonly CellRow[], findings: readonly CheckedFinding[]): number {
  const slower = standingOf(findings, []).slower.filter(isOfSpeed);
  const changes = slower.flatMap(({ details }) => details);
  const metricsOf = Map.groupBy(changes, ({ key }) => key);
  return rows.filter(({ cell, metric, verdict }) => {
    const own = metricsOf.get(cell.key) ?? [];
    return verdict === 'same' && own.length > 0 && own.every((change) => change.metric !== metric);
  }).length;
}

const FIRST = 'next: measure again (bench run), the second sweep is compared with this one';

function aboutText(series: CheckedSeries, { cells, environments, sweeps }: SweepEvidence): string {
  const { branch, commit, matrix, provenance, startedAt, sweepId, sweeps: number } = series;
  const newest = cells.flatMap(({ environmentIds }) => environments.get(environmentIds.at(-1) ?? '') ?? []);
  // Only what all cells have in common.
  const common = [
    newest.map(({ gpuName }) => gpuName),
    newest.map(({ tensorrt }) => (tensorrt === null ? null : `TensorRT ${tensorrt}`)),
    series.cells.map(({ metric }) => gatedMetricOf(metric).label),
  ].map((names) => (new Set(names).size === 1 ? printable(names[0] ?? '') : ''));
  return dotted([
    provenance,
    printable(matrix ?? ''),
    describeCommit({ branch, commit, dirty: sweeps.at(-1)?.dirty ?? null }),
    `sweep ${sweepId.slice(0, 8)} of ${startedAt?.slice(0, 10) ?? 'an unknown date'}, number ${number}`,
    ...common,
  ]);
}

/** Maximum number of rows, or of names, unless all are requested. */
const SHOWN_CELLS = 12;

function cellsText(all: readonly CellRow[], isAll: boolean, look: Look): string[] {
  const rows = worstFirst(all);
  const moved = rows.filter(hasMoved);
  const shown = isAll ? rows : moved.slice(0, SHOWN_CELLS);
  if (shown.length === 0) return [];
  const [more, others] = isAll ? [0, 0] : [moved.length - shown.length, rows.length - moved.length];
  const fold = [more > 0 && `${more} more`, others > 0 && count(others, 'other')].filter(Boolean).join(', ');
  return ['', ...cellRows(shown, rows, 'sweeps', look), ...(fold === '' ? [] : dimmed([`${fold}: --all`], look))];
}

/** Lists cells that are new, or that only the previous sweep had, and what happened to cells without a result. */
function reasonText({ cells, judgedBy }: CheckedSeries, most: number, { columns, style }: Look): string[] {
  const byReason = Map.groupBy(cells, ({ notes: [note], reason, verdict }): string => reason ?? (note ? verdict : ''));
  const listed = (judgedBy === 'first' ? [] : ['new', 'missing']).flatMap((reason) => {
    const names = byReason.get(reason)?.map(({ label }) => printable(label)) ?? [];
    const text = `${reason}: ${shortList(names, most, ', ', ' and ')}`;
    return names.length === 0 ? [] : ['', ...wrapHanging(text, columns, 2).map(style.warn)];
  });
  const explained = [
    { reason: 'failed', paint: style.bad, words: 'without a result in the newest sweep' },
    { reason: 'unclear', paint: style.warn, words: 'unclear: another sweep or more runs decide' },
    { reason: 'same', paint: plain, words: 'the same, although far from the reference' },
  ].flatMap(({ paint, reason, words }) => {
    const own = byReason.get(reason) ?? [];
    const title = paint(`${count(own.length, 'cell')} ${words}`);
    const texts = own.map(({ label, notes }) => `  ${printable(label)}: ${notes.map(reasonWords).join('; ')}`);
    const lines = shortList(texts, most, '\n', '\n  and ').split('\n');
    return own.length === 0 ? [] : ['', title, ...lines.flatMap((line) => wrapHanging(line, columns, 4))];
  });
  return [...listed, ...explained];
}

const SHOWN_ENDED = 10;

/** A finding in full: its certainty, causes, commits, a chart of its clearest cell, and the next commands. */
function findingText(finding: CheckedFinding, series: Resumable, evidence: SweepEvidence, look: Look): string[] {
  const { about, also, causes, edges, evidence: certainty, titleOfAll } = sentences(finding, evidence);
  const owner = finding.owner === null ? '' : `; owner ${printable(finding.owner)}`;
  const next = nextCommands(finding, series);
  const sure = certainty.length === 0 ? '' : `: ${certainty.join(', ')}`;
  const indented = (texts: readonly string[]) => texts.flatMap((text) => wrapHanging(`  ${text}`, look.columns, 4));
  return [
    ...titleLines(finding, titleOfAll, look),
    ...indented([`${about}${sure}${owner}`, ...causes.map(([term, says]) => `${term}: ${says}`)]),
    ...indented(beginText(finding, edges)),
    ...otherMetrics(finding, evidence, look),
    ...indented(also === '' ? [] : [`also: ${also}`]),
    ...findingChart(finding, evidence, look),
    ...(next.length === 0 ? [] : labelled('  next: ', dotted(next), look.columns)),
  ];
}

/** `▲ a40520f1 12 cells slower by 4.9 to 5.3 %: all fp8, since 2026-02-24`. */
function titleLines({ direction, id, isWarning }: CheckedFinding, title: string, { columns, style }: Look) {
  const [sign, paint] = direction === 'slower' ? ['▲', style.bad] : ['▼', style.good];
  return wrapHanging(`${sign} ${id.slice(0, 8)} ${title}`, columns, 2).map(isWarning ? style.warn : paint);
}

/** Findings that are acknowledged or over, or that show faster cells since an earlier sweep. */
function earlierText(findings: readonly CheckedFinding[], evidence: SweepEvidence, { columns, style }: Look) {
  const lasting = findings.filter(({ state }) => state !== 'recovered');
  const ended = findings.filter(({ state }) => state === 'recovered').slice(0, SHOWN_ENDED);
  const lines = [...lasting, ...ended].flatMap((finding) => {
    const { about, title } = sentences(finding, evidence);
    const mark = finding.acknowledged;
    const reason = mark === null ? '' : `; reason: ${printable(acceptedText(mark))}`;
    return wrapHanging(`  ${about}: ${finding.id.slice(0, 8)} ${title}${reason}`, columns, 4).map(style.dim);
  });
  return lines.length === 0 ? [] : ['', style.strong('reported before'), ...lines];
}

/** Changes of limits, and of metrics that the table of cells lacks: values before and after. */
function otherMetrics(finding: CheckedFinding, evidence: SweepEvidence, look: Look): string[] {
  const mains = new Map(evidence.cells.map(({ cell, metrics: [main] }) => [cell.key, main?.metric]));
  const isLimit = finding.kind === 'limit';
  const all = firstOfEach(finding);
  const shown = all.filter(({ key, metric }) => isLimit || mains.get(key) !== metric).slice(0, SHOWN_CELLS);
  const table = changesTable(finding, shown, evidence, { ...look, columns: look.columns - 2 });
  const more = all.length - shown.length;
  if (more > 0 && shown.length > 0)
    table.push(look.style.dim(`and ${more} more: bench show ${finding.id.slice(0, 8)}`));
  return table.map((line) => `  ${line}`);
}

function changesTable({ kind }: CheckedFinding, shown: CheckedFinding['details'], evidence: SweepEvidence, look: Look) {
  const changes = withCells(shown, new Map(evidence.cells.map(({ cell }) => [cell.key, cell])));
  if (changes.length === 0) return [];
  const [before, after, change] = kind === 'limit' ? ['limit', 'value', 'beyond'] : ['before', 'after', 'change'];
  return cellTable(
    changes,
    [
      { header: 'metric', text: ({ metric }) => printable(gatedMetricOf(metric).label), minWidth: 8, dropRank: 1 },
      { header: before, text: (row) => levelText(row, row.before), align: 'right', dropRank: 3 },
      { header: after, text: (row) => levelText(row, row.after), align: 'right', dropRank: 2 },
      { header: change, text: changeText, align: 'right' },
    ],
    look,
  );
}

/** Where a finding begins: commits if they are known, otherwise sweeps. No commit makes a machine slow. */
function beginText({ cause, commits, firstBad, lastGood }: CheckedFinding, edges: { first: string; last: string }) {
  if (lastGood === null || firstBad === null || cause === 'machine') return [];
  const isCommits = lastGood.commit !== null && firstBad.commit !== null;
  const [good, bad] = [lastGood, firstBad].map(({ commit, sweepId }) =>
    isCommits ? (commit ?? '').slice(0, 8) : `sweep ${sweepId.slice(0, 8)}`,
  );
  if (good === bad && firstBad.dirty) return [`${edges.first} ${bad} with uncommitted changes, ${edges.last} ${good}`];
  if (good === bad) return [`both sweeps measured commit ${good}: the cause is not a commit`];
  const [only, ...others] = commits;
  const subject = only === undefined || others.length > 0 ? '' : ` "${printable(only.subject)}"`;
  const log = others.length === 0 ? '' : `: git log ${good}..${bad}`;
  const number = only === undefined ? '' : ` (${count(commits.length, 'commit')}${log})`;
  return [`${edges.first} ${bad}${subject}, ${edges.last} ${good}${number}`];
}

/** A stored finding in full, over the sweeps of its series until now. It may be of any size and age. */
export async function showFinding(db: StoreDatabase, stored: Finding, options: { readonly json?: true }, io: Io) {
  const { findingId, reportedSweepId } = stored;
  const [newest] = sweepsById(db, [reportedSweepId]).flatMap((sweep) => seriesOf(db, sweep, 1));
  if (newest === undefined) throw new UsageError(`finding ${findingId}: the sweeps of its series are not finished`);
  const { evidence, verdict } = await judgedSweep(db, newest, io);
  const acknowledgements = acknowledgementsOf(db, [findingId]);
  const about = { acknowledgements, batch: newestBatch(db, newest), evidence, verdict };
  const [finding] = await checkedFindings(db, about, [stored], io.cwd);
  if (finding === undefined) throw new UsageError(`finding ${findingId} has no cell`);
  const output: ShownFinding = { schemaVersion: 2, ...finding };
  return printResult(io, options, output, (_, look) => {
    const series = { canConfirm: canConfirm(db, newest.sweepId), sweepId: newest.sweepId };
    const mark = finding.acknowledged;
    const accepted = mark && `  acknowledged on ${mark.createdAt.slice(0, 10)}: ${printable(acceptedText(mark))}`;
    return [
      ...findingText(finding, series, evidence, look),
      ...(accepted === null ? [] : wrapHanging(accepted, look.columns, 4)),
      '',
      ...changesTable(finding, finding.details, evidence, look),
    ];
  });
}
