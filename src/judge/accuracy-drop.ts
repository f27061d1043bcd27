import type { Accuracy, AccuracyRecord } from '../records/accuracy.ts';
import { canonicalJson } from '../text/canonical-json.ts';

/** By so much an accuracy is worse than the one before; negative when it is better. */
export interface AccuracyDrop {
  readonly before: AccuracyRecord;
  readonly dropDb: number;
  readonly isRegression: boolean;
}

/** The same model on the same inputs gives the same outputs: no runs, no noise, only a limit of what is accepted. */
export function accuracyDrop(
  now: Pick<AccuracyRecord, 'accuracy'>,
  before: AccuracyRecord | null,
  maxDropDb: number,
): AccuracyDrop | null {
  if (before === null) return null;
  const dropDb = difference(before.accuracy, now.accuracy);
  return { before, dropDb, isRegression: dropDb > maxDropDb };
}

/** Outputs without any difference are above every ratio. */
function difference(before: Accuracy, now: Accuracy): number {
  if (before.sqnrDb === null && now.sqnrDb === null) return 0;
  return (before.sqnrDb ?? Infinity) - (now.sqnrDb ?? Infinity);
}

type Comparable = Pick<AccuracyRecord, 'model' | 'precision' | 'inputs' | 'accuracy'>;

/** Accuracies of one model and precision on the same inputs: those that make a history. */
export function sameAccuracyHistory(a: Comparable, b: Comparable): boolean {
  return identity(a) === identity(b);
}

function identity({ model, precision, inputs, accuracy }: Comparable): string {
  return canonicalJson({ model, precision, inputs, samples: accuracy.samples });
}
