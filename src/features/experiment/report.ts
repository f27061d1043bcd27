import * as z from 'zod';

import { abJudgementSchema, abSides, experimentSchema, judgeExperiment } from '../../judge/experiment.ts';
import type { AbExperiment } from '../../judge/experiment.ts';
import { type KeyedCell, aboutCell } from '../../records/cell.ts';
import * as parts from '../../records/output-parts.ts';
import { FLAG_LABELS } from '../../records/outcome.ts';
import { type Sweep, sweepSchema } from '../../records/sweep.ts';
import { metricNamed } from '../../selection/by-name.ts';
import { median } from '../../statistics/order-statistics.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { cellTable, sideColumns, withCells } from '../../terminal/cell-columns.ts';
import { type Look, dotted, wrapHanging } from '../../terminal/look.ts';
import { count, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { estimateWords } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';

export function abReport(db: StoreDatabase, { sweepId, matrix, provenance }: Sweep, experiment: AbExperiment) {
  const { metric: requested, pairs, ...about } = experiment;
  const keys = pairs.map(({ a }) => a);
  const cells = findCells(db, keys);
  const runs = cellRunsOf(db, [sweepId]);
  const metric = metricNamed(db, requested ?? undefined);
  const compared = pairs.flatMap(({ a, b: bKey }) => {
    const cell = cells.get(a);
    return cell === undefined ? [] : [{ cell, bKey, ...abSides(cell, bKey, metric, runs) }];
  });
  const all = compared.map(({ sides }) => sides);
  const judge = judgeExperiment(all, about.significantPercent);
  const judged = compared.map(({ bKey, cell, metric: own, reasons, sides: { base, head, betterIs } }) => {
    const said = judge([cell.key]);
    const values = { a: median(base), b: median(head), runs: [base.length, head.length] } as const;
    return { ...aboutCell(cell, own), bKey, betterIs, ...values, ...said, reasons: [...said.reasons, ...reasons] };
  });
  const sweep = { sweepId, matrix, provenance };
  const output: AbOutput = { schemaVersion: 1, ...sweep, ...about, cells: judged, overall: judge(keys) };
  return { output, cells };
}

type Judgement = AbOutput['overall'];

export function abText(ab: AbOutput, cells: ReadonlyMap<string, KeyedCell>, look: Look): string[] {
  const { style } = look;
  const rows = withCells(ab.cells, cells);
  const { marks, matrix, name, notes, overall, provenance, significantPercent, sweepId, variables } = ab;
  const wrapped = (text: string): string[] => wrapHanging(printable(text), look.columns, 2);
  const settings = Object.entries(variables).map(([variable, value]) => `${variable}=${value}`);
  const threshold = Number(significantPercent.toPrecision(3));
  const title = `${name}: B with ${settings.join(' ')}, A unchanged`;
  const marked = `✗ B is marked ${marks.map((id) => FLAG_LABELS[id]).join(', ')}: never a baseline, never in the gate, never the best`;
  return [
    ...wrapped(dotted([title, estimateWords(ab.cells.map(({ metric }) => metric))])).map(style.strong),
    ...wrapped(dotted([`sweep ${sweepId.slice(0, 8)}`, matrix, provenance])).map(style.dim),
    '',
    ...cellTable(
      rows,
      [
        ...sideColumns(rows, ['A', 'B'], ({ a, b }) => [a, b], {
          header: 'B is better by',
          short: 'gain',
          text: ({ gainPercent }) => formatPercent(gainPercent),
        }),
        { header: 'runs', text: ({ runs }) => runs.join('/'), align: 'right', dropRank: 3 },
        { header: 'verdict', text: verdictText, style: ({ verdict }) => style[VERDICTS[verdict].style] },
      ],
      look,
    ),
    ...ab.cells.flatMap(({ label, reasons }) =>
      reasons.length === 0 ? [] : wrapped(`  ${label}: ${reasons.join('; ')}`).map(style.warn),
    ),
    '',
    ...wrapped(`threshold ${threshold} %: ${overallText(overall, ab.cells)}`).map(style.strong),
    ...(marks.length === 0 ? [] : wrapped(marked).map(style.bad)),
    ...notes.flatMap((note) => wrapped(`note: ${note}`).map(style.warn)),
  ];
}

const VERDICTS = {
  significant: { text: 'significant: a bottleneck', style: 'bad' },
  notABottleneck: { text: 'not a bottleneck', style: 'good' },
  unclear: { text: 'unclear', style: 'warn' },
  failed: { text: 'no result', style: 'warn' },
} as const satisfies Readonly<Record<Judgement['verdict'], object>>;

function verdictText({ moreRepeats, verdict }: Judgement): string {
  const more = moreRepeats === null ? '' : `, ${count(moreRepeats, 'more repeat')} per side would settle it`;
  return `${VERDICTS[verdict].text}${more}`;
}

function overallText(overall: Judgement, cells: AbOutput['cells']): string {
  const { ciPercent, gainPercent } = overall;
  const size = ciPercent === null ? '' : ` (${formatPercent(gainPercent)}, 95 % interval ${intervalText(ciPercent)})`;
  const measured = cells.filter(({ verdict }) => verdict !== 'failed').length;
  return `${verdictText(overall)}${size}${cells.length === 1 ? '' : ` in the mean of ${count(measured, 'cell')}`}`;
}

const { metric: _metric, pairs: _pairs, ...about } = experimentSchema.shape;

export const ab = parts.output('bench ab --json', {
  sweepId: parts.id,
  matrix: sweepSchema.shape.matrix,
  provenance: parts.provenance,
  ...about,
  cells: z.array(
    z.strictObject({
      ...parts.aboutCell,
      bKey: parts.id.describe('Key of the cell of side B'),
      betterIs: z.enum(['lower', 'higher']),
      a: z.number().nullable().describe('Center of the runs of side A'),
      b: z.number().nullable(),
      runs: z.tuple([parts.count, parts.count]),
      ...abJudgementSchema.shape,
    }),
  ),
  overall: abJudgementSchema.describe('Judgement of the mean of all cells'),
});

type AbOutput = parts.OutputOf<typeof ab>;
