import { type AbExperiment, abSides, judgeExperiment } from '../../judge/experiment.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { FLAG_LABELS, ineligibleFlags, type RunFlag } from '../../records/run-flag.ts';
import type { CellRun } from '../../records/run.ts';
import type { Sweep } from '../../records/sweep.ts';
import { metricNamed } from '../../selection/by-name.ts';
import { median } from '../../statistics/median.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { harnessVersionsOf } from '../../store/runs/run-facts.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { sideColumns } from '../../terminal/side-columns.ts';
import { count, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { dotted, wrapHanging } from '../../terminal/text-width.ts';
import { estimateWords } from '../../terminal/words.ts';
import { aboutCell } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { AbOutput } from './output.ts';

export function abReport(
  db: StoreDatabase,
  sweep: Sweep,
  experiment: AbExperiment,
): { readonly output: AbOutput; readonly details: AbDetails } {
  const { sweepId, matrix, provenance, state, tensorrt } = sweep;
  const { before, name, notes, significantPercent, variables } = experiment;
  const runs = cellRunsOf(db, [sweepId]).filter(({ role }) => role === 'timed');
  const keys = new Set(experiment.pairs.map(({ a }) => a));
  const cells = findCells(db, [...keys]);
  const requested = metricNamed(db, experiment.metric ?? undefined);
  const pairs = experiment.pairs.flatMap(({ a, b: bKey }) => {
    const cell = cells.get(a);
    return cell === undefined ? [] : [{ cell, bKey, ...abSides(cell, bKey, requested, runs) }];
  });
  const judged = judgeExperiment(
    pairs.map(({ sides }) => sides),
    significantPercent,
  );
  const marks = barringFlags(runs.filter(({ cellKey }) => !keys.has(cellKey)));
  const marksOfA = barringFlags(runs.filter(({ cellKey }) => keys.has(cellKey)));
  const versions = harnessVersionsOf(db, sweepId);
  const output: AbOutput = {
    schemaVersion: 1,
    sweepId,
    name,
    matrix,
    provenance,
    state,
    tensorrt,
    versions,
    variables,
    before,
    significantPercent,
    marks: marks.map(({ id }) => id),
    cells: pairs.map(({ bKey, cell, metric, reasons, sides: { base, head, betterIs } }, at) => {
      const judgement = judged.cells[at] ?? judged.overall;
      return {
        ...aboutCell(cell, metric),
        bKey,
        betterIs,
        a: median(base),
        b: median(head),
        runs: [base.length, head.length],
        ...judgement,
        reasons: [...judgement.reasons, ...reasons],
      };
    }),
    overall: judged.overall,
    notes: [...notes, ...notesOf(experiment, marksOfA, versions)],
  };
  return { output, details: { cells, marks } };
}

function notesOf({ before }: AbExperiment, marksOfA: readonly RunFlag[], versions: AbOutput['versions']): string[] {
  const byHarness = Map.groupBy(versions, ({ harness }) => harness);
  return [
    ...[...byHarness].flatMap(([harness, all]) =>
      all.length < 2 ? [] : [`${all.length} versions of ${harness} measured this: they make no picture together`],
    ),
    ...marksOfA.map(({ evidence, id }) => `A itself is marked ${FLAG_LABELS[id]}: ${evidence}`),
    ...Object.entries(before).flatMap(([name, values]) => {
      const set = values.filter((value) => value !== null);
      return set.length === 0 ? [] : [`A is measured with ${name}=${set.join(', ')}`];
    }),
  ];
}

/** Each kind of excluding flag, with the evidence of the first run that has it. */
function barringFlags(runs: readonly CellRun[]): RunFlag[] {
  const flags = runs.flatMap((run) => ineligibleFlags(run.flags));
  return [...new Map(flags.toReversed().map((flag) => [flag.id, flag])).values()].toReversed();
}

/** Shown in the text but not in `--json`. */
interface AbDetails {
  readonly cells: ReadonlyMap<string, KeyedCell>;
  /** Flags that exclude the runs of B from baselines. */
  readonly marks: readonly RunFlag[];
}

type Judgement = AbOutput['overall'];

export function abText(ab: AbOutput, { cells, marks }: AbDetails, look: Look): string[] {
  const { style } = look;
  const { matrix, name, notes, overall, provenance, significantPercent, state, sweepId, tensorrt, variables } = ab;
  const wrapped = (text: string): string[] => wrapHanging(printable(text), look.columns, 2);
  const settings = Object.entries(variables).map(([variable, value]) => `${variable}=${value}`);
  const title = `${name}: B with ${settings.join(' ')}, A as it is`;
  const about = [
    `sweep ${sweepId.slice(0, 8)}`,
    matrix,
    provenance,
    tensorrt === null ? null : `TensorRT ${tensorrt}`,
    ...ab.versions.map(({ harness, version }) => `${harness} ${version ?? '(no version)'}`),
  ];
  return [
    ...wrapped(dotted([title, estimateWords(ab.cells.map(({ metric }) => metric))])).map(style.strong),
    ...wrapped(dotted(about)).map(style.dim),
    ...(state === 'finished' ? [] : [style.warn(`this sweep is ${state}`)]),
    '',
    ...tableOf(withCells(ab.cells, cells), look),
    ...ab.cells.flatMap(({ label, reasons }) =>
      reasons.length === 0 ? [] : wrapped(`  ${label}: ${reasons.join('; ')}`).map(style.warn),
    ),
    '',
    ...wrapped(`threshold ${Number(significantPercent.toPrecision(3))} %: ${overallText(overall, ab.cells)}`).map(
      style.strong,
    ),
    ...marks.flatMap(({ evidence, id }) => wrapped(`✗ B is marked ${FLAG_LABELS[id]}: ${evidence}`).map(style.bad)),
    ...(marks.length === 0 ? [] : wrapped('  never a baseline, never in the gate, never the best')),
    ...notes.flatMap((note) => wrapped(`note: ${note}`).map(style.warn)),
  ];
}

type AbRow = AbOutput['cells'][number] & { readonly cell: KeyedCell };

function tableOf(cells: readonly AbRow[], look: Look): string[] {
  return cellTable<AbRow>(
    cells,
    [
      ...sideColumns(cells, ['A', 'B'], ({ a, b }) => [a, b], {
        header: 'B is better by',
        short: 'gain',
        text: ({ gainPercent }) => formatPercent(gainPercent),
      }),
      { header: 'runs', text: ({ runs }) => runs.join('/'), align: 'right', dropRank: 3 },
      { header: 'verdict', text: verdictText, style: ({ verdict }) => look.style[VERDICTS[verdict].style] },
    ],
    look,
  );
}

const VERDICTS = {
  significant: { text: 'significant: a bottleneck', counted: 'significant', style: 'bad' },
  notABottleneck: { text: 'not a bottleneck', counted: 'no bottleneck', style: 'good' },
  unclear: { text: 'unclear', counted: 'unclear', style: 'warn' },
  failed: { text: 'no result', counted: 'without a result', style: 'warn' },
} as const satisfies Readonly<Record<Judgement['verdict'], object>>;

function verdictText({ ciPercent, moreRepeats, verdict }: Judgement): string {
  const isWorse = verdict === 'notABottleneck' && ciPercent !== null && ciPercent[1] < 0;
  const more = moreRepeats === null ? '' : `, ${count(moreRepeats, 'more repeat')} per side would settle it`;
  return `${VERDICTS[verdict].text}${isWorse ? ': B is worse' : ''}${more}`;
}

function overallText(overall: Judgement, cells: AbOutput['cells']): string {
  const { ciPercent, gainPercent } = overall;
  const size = ciPercent === null ? '' : ` (${formatPercent(gainPercent)}, 95 % interval ${intervalText(ciPercent)})`;
  const text = `${verdictText(overall)}${size}`;
  if (cells.length === 1) return text;
  const counted = Object.entries(VERDICTS).flatMap(([verdict, words]) => {
    const number = cells.filter((cell) => cell.verdict === verdict).length;
    return number === 0 ? [] : [`${number} ${words.counted}`];
  });
  const measured = cells.filter(({ verdict }) => verdict !== 'failed').length;
  return `${text} in the mean of ${count(measured, 'cell')}: ${counted.join(', ')}`;
}
