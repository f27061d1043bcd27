import { MAX_DROP_DB, accuracyDrop, sameAccuracyHistory } from '../../records/accuracy.ts';
import type { Side } from '../../selection/sides.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { count, formatDecibels } from '../../terminal/numbers.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { printable, shortList } from '../../text/printable.ts';
import { type compareReport, compareText, type Comparison, shiftSize } from '../compare/index.ts';
import type { UpgradeOutput } from './output.ts';

/** Of `bench report --upgrade OLD NEW`: `bench compare` across versions of TensorRT, with reasons against the upgrade. */
export function upgradeAnswer(
  db: StoreDatabase,
  { details, output: compared }: Awaited<ReturnType<typeof compareReport>>,
) {
  const { cells, counts, shift } = compared;
  const lost = cells.filter(({ runs: [a, b], verdict }) => verdict === 'failed' && a > 0 && b === 0).length;
  const fallen = fallenAccuracies(db, details.sides, cells);
  const against = [
    ...(lost === 0 ? [] : [`${count(lost, 'cell')} that ran before: no result`]),
    ...(fallen.length === 0 ? [] : [`accuracy fell in ${shortList(fallen, NAMED)}`]),
    ...(counts.slower === 0 ? [] : [count(counts.slower, 'slower cell')]),
    ...(shift?.verdict === 'slower' ? [shiftSize(shift)] : []),
  ];
  const output: UpgradeOutput = { ...compared, schemaVersion: 2, against };
  const answer = answerText(output);
  return {
    output,
    answer,
    text: (look: Look) => [
      ...wrapHanging(printable(answer), look.columns, 2).map(look.style.strong),
      ...compareText(output, details, look),
    ],
    found: {
      regression: shift?.verdict === 'slower' || counts.slower + fallen.length > 0,
      failed: lost > 0,
      unclear: counts.unclear + counts.incomparable > 0,
    },
  };
}

/** Maximum number of less accurate cells that are named. */
const NAMED = 3;

/** Accuracies of the files from which the engines were built, on the same inputs: `vit fp8 30.0 dB → 24.0 dB`. */
function fallenAccuracies(
  db: StoreDatabase,
  { base, head }: { readonly base: Side; readonly head: Side },
  cells: Comparison['cells'],
): string[] {
  const recordsOf = ({ sweeps }: Side) =>
    recordsByCell(
      db,
      sweeps.map(({ sweepId }) => sweepId),
    );
  const [before, after] = [recordsOf(base), recordsOf(head)];
  return cells.flatMap(({ key, label }) => {
    const drops = (after.get(key) ?? []).flatMap((now) => {
      const was = before.get(key)?.find((record) => sameAccuracyHistory(record, now)) ?? null;
      const drop = accuracyDrop(now, was, MAX_DROP_DB);
      if (drop?.isRegression !== true) return [];
      return `${label} ${formatDecibels(drop.before.accuracy.sqnrDb)} → ${formatDecibels(now.accuracy.sqnrDb)}`;
    });
    return drops.slice(0, 1);
  });
}

function answerText({ against, counts }: Pick<UpgradeOutput, 'against' | 'counts'>): string {
  if (against.length > 0) return `reasons against an upgrade: ${against.join(', ')}`;
  const isJudged = counts.faster + counts.same + counts.slower > 0;
  return isJudged ? 'no measured result is against an upgrade' : 'not known yet: no cell has a verdict';
}
