import { variantNotes, type VariantRecord } from '../../variants/conversion.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import { formatDuration } from '../../terminal/numbers.ts';

export interface QuantizeReport {
  readonly variant: PlannedVariant;
  readonly state: {
    readonly path: string;
    readonly record: VariantRecord;
    readonly how: 'made' | 'cached';
    readonly wallS: number | null;
  };
  /** Where a copy was asked for. */
  readonly output: string | null;
}

export function quantizeJson({ variant, state, output }: QuantizeReport) {
  const { how, path, record, wallS } = state;
  return {
    schemaVersion: 1,
    model: variant.onnxPath,
    ...record,
    how,
    path,
    output,
    argv: ['python3', ...variant.args],
    wallS: wallS === null ? null : Number(wallS.toFixed(3)),
    notes: variantNotes(record),
  };
}

export function quantizeText({ state, output }: QuantizeReport): string[] {
  const { how, path, record, wallS } = state;
  const when = wallS === null ? how : `${how} in ${formatDuration(wallS)}`;
  const [what = '', ...more] = variantNotes(record);
  return [`${what} (${when})`, ...more, printable(output ?? path)];
}
