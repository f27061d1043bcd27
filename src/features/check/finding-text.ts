import { type Io, printResult } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import type { SweepEvidence } from '../../judge/gate/evidence.ts';
import type { Finding } from '../../records/finding.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { acknowledgementsOf } from '../../store/sweeps/findings.ts';
import { canConfirm } from '../../store/sweeps/sweeps.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { dotted, labelled, wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { findingChart } from './cell-pictures.ts';
import { checkedFindings } from './findings.ts';
import { gather, newestBatch } from './gather.ts';
import type { CheckedFinding, CheckedSeries, ShownFinding } from './output.ts';
import { changeText, firstOfEach, levelText, nextCommands, sentences } from './sentences.ts';
import { seriesAt } from './series.ts';

const SHOWN_CELLS = 12;
/** Number of sweeps for which ended findings are shown. */
const SHOWN_ENDED = 10;

/** A finding in full: its certainty, causes, commits, a chart of its clearest cell, and the next commands. */
export function findingText(
  finding: CheckedFinding,
  series: Pick<CheckedSeries, 'canConfirm' | 'sweepId'>,
  evidence: SweepEvidence,
  look: Look,
): string[] {
  const { about, also, causes, edges, evidence: certainty, titleOfAll } = sentences(finding, evidence);
  const owner = finding.owner === null ? '' : `; owner ${printable(finding.owner)}`;
  const next = `  ${finding.kind === 'limit' ? 'to accept it' : 'next'}: `;
  const sure = certainty.length === 0 ? '' : `: ${certainty.join(', ')}`;
  const indented = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => wrapHanging(`  ${text}`, look.columns, 4));
  return [
    ...titleLines(finding, titleOfAll, look),
    ...indented([`${about}${sure}${owner}`, ...causes.map(([term, says]) => `${term}: ${says}`)]),
    ...indented(beginText(finding, edges)),
    ...otherMetrics(finding, evidence, look),
    ...indented(also === '' ? [] : [`also: ${also}`]),
    ...findingChart(finding, evidence, look),
    ...labelled(next, dotted(nextCommands(finding, series)), look.columns),
  ];
}

/** `▲ a40520f1 12 cells slower by 4.9 to 5.3 %: all fp8, since 2026-02-24`. */
export function titleLines(
  { direction, id, isWarning }: CheckedFinding,
  title: string,
  { columns, style }: Look,
): string[] {
  const [sign, paint] = direction === 'slower' ? ['▲', style.bad] : ['▼', style.good];
  return wrapHanging(`${sign} ${id.slice(0, 8)} ${title}`, columns, 2).map(isWarning ? style.warn : paint);
}

/** Findings that are acknowledged or over, or that show faster cells since an earlier sweep. */
export function earlierText(
  findings: readonly CheckedFinding[],
  evidence: SweepEvidence,
  { columns, style }: Look,
): string[] {
  const lasting = findings.filter(({ state }) => state !== 'recovered');
  const ended = findings.filter(({ state }) => state === 'recovered').slice(0, SHOWN_ENDED);
  const lines = [...lasting, ...ended].flatMap((finding) => {
    const { about, title } = sentences(finding, evidence);
    const mark = finding.acknowledged;
    const reason = mark === null ? '' : `; reason: ${printable(mark.reason)}`;
    return wrapHanging(`  ${about}: ${finding.id.slice(0, 8)} ${title}${reason}`, columns, 4).map(style.dim);
  });
  return lines.length === 0 ? [] : ['', style.strong('reported before'), ...lines];
}

/** Changes of limits, and of metrics that the table of cells lacks: values before and after. */
function otherMetrics(finding: CheckedFinding, evidence: SweepEvidence, look: Look): string[] {
  const mains = new Map(evidence.cells.map(({ cell, metrics: [main] }) => [cell.key, main?.metric]));
  const isLimit = finding.kind === 'limit';
  const shown = firstOfEach(finding).filter(({ key, metric }) => isLimit || mains.get(key) !== metric);
  const table = changesTable(finding, shown.slice(0, SHOWN_CELLS), evidence, { ...look, columns: look.columns - 2 });
  const more = shown.length - SHOWN_CELLS;
  const rest = more > 0 ? [look.style.dim(`and ${more} more: bench show ${finding.id.slice(0, 8)}`)] : [];
  return [...table, ...rest].map((line) => `  ${line}`);
}

function changesTable(
  { kind }: CheckedFinding,
  shown: CheckedFinding['details'],
  evidence: SweepEvidence,
  look: Look,
): string[] {
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

type Edges = ReturnType<typeof sentences>['edges'];

/** Where a finding begins: commits if they are known, otherwise sweeps. No commit makes a machine slow. */
function beginText({ cause, commits, firstBad, lastGood }: CheckedFinding, edges: Edges): string[] {
  if (lastGood === null || firstBad === null || cause === 'machine') return [];
  const isCommits = lastGood.commit !== null && firstBad.commit !== null;
  const [good, bad] = [lastGood, firstBad].map(({ commit, sweepId }) =>
    isCommits ? (commit ?? '').slice(0, 8) : `sweep ${sweepId.slice(0, 8)}`,
  );
  if (good === bad) return [`both sweeps measured commit ${good}: the cause is not a commit`];
  const [only, ...others] = commits;
  const subject = only === undefined || others.length > 0 ? '' : ` "${printable(only.subject)}"`;
  const log = others.length === 0 ? '' : `: git log ${good}..${bad}`;
  const number = only === undefined ? '' : ` (${count(commits.length, 'commit')}${log})`;
  return [`${edges.first} ${bad}${subject}, ${edges.last} ${good}${number}`];
}

/** A stored finding in full, over the sweeps of its series until now. It may be of any size and age. */
export async function showFinding(
  db: StoreDatabase,
  stored: Finding,
  options: { readonly json?: true },
  io: Io,
): Promise<ExitCode> {
  const { findingId, reportedSweepId } = stored;
  const [newest] = sweepsById(db, [reportedSweepId]).flatMap((sweep) => seriesOf(db, sweep, 1));
  if (newest === undefined) throw new UsageError(`finding ${findingId}: the sweeps of its series are not finished`);
  const { evidence } = await gather(db, await seriesAt(db, newest, io), io);
  const about = { acknowledgements: acknowledgementsOf(db, [findingId]), batch: newestBatch(db, newest), evidence };
  const [finding] = await checkedFindings(db, { ...about, findings: [stored] }, io.cwd);
  if (finding === undefined) throw new UsageError(`finding ${findingId} has no cell`);
  const output: ShownFinding = { schemaVersion: 2, ...finding };
  return printResult(io, options, output, (_, look) => {
    const series = { canConfirm: canConfirm(db, newest.sweepId), sweepId: newest.sweepId };
    const mark = finding.acknowledged;
    const accepted = mark === null ? '' : `  acknowledged on ${mark.createdAt.slice(0, 10)}: ${printable(mark.reason)}`;
    return [
      ...findingText(finding, series, evidence, look),
      ...(mark === null ? [] : wrapHanging(accepted, look.columns, 4)),
      '',
      ...changesTable(finding, finding.details, evidence, look),
    ];
  });
}
