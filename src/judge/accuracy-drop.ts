import type { AccuracyRecord } from '../records/accuracy.ts';
import { canonicalJson } from '../text/canonical-json.ts';

export type AccuracyDrop = NonNullable<ReturnType<typeof accuracyDrop>>;

/**
 * The drop in accuracy in dB; negative when it improved. The same model on the same inputs gives the same outputs, so
 * there is no noise, only a limit.
 */
export function accuracyDrop(now: Pick<AccuracyRecord, 'accuracy'>, before: AccuracyRecord | null, maxDropDb: number) {
  if (before === null) return null;
  // The ratio of identical outputs is infinite.
  const [was, is] = [before.accuracy.sqnrDb ?? Infinity, now.accuracy.sqnrDb ?? Infinity];
  const dropDb = was === is ? 0 : was - is;
  return { before, dropDb, isRegression: dropDb > maxDropDb };
}

type Comparable = Pick<AccuracyRecord, 'model' | 'precision' | 'inputs' | 'accuracy'>;

/** Same model, precision and inputs: comparable over time. */
export function sameAccuracyHistory(a: Comparable, b: Comparable): boolean {
  return identity(a) === identity(b);
}

function identity({ model, precision, inputs, accuracy }: Comparable): string {
  return canonicalJson({ model, precision, inputs, samples: accuracy.samples });
}
