import { batchOf, type KeyedCell, keyedCell, PRECISIONS, type Shapes } from '../records/cell.ts';
import type { CellHarness } from '../records/harness.ts';
import { isOneOf } from '../text/unknown-values.ts';
import type { StandaloneReport, NeededField } from './driver.ts';
import type { StatedCell } from '../trtexec/cell-of-run.ts';

/** The cell according to a report; null for facts that it lacks. */
export type ReportedCell = Pick<
  StandaloneReport,
  'harness' | 'model' | 'precision' | 'shapes' | 'cudaGraph' | 'identity'
> & { readonly transfers: boolean | null };

export type ReportCell =
  | { readonly kind: 'complete'; readonly cell: KeyedCell }
  | { readonly kind: 'lacking'; readonly fields: readonly ('model' | NeededField)[] };

/** The cell of a standalone report. The report takes precedence over statements of the user. */
export function cellOfReport(report: ReportedCell, stated: StatedCell, needs: readonly NeededField[]): ReportCell {
  const known = {
    model: report.model ?? stated.model,
    precision: report.precision ?? stated.precision,
    shapes: shapesOf(report.shapes, stated.shapes),
    cudaGraph: report.cudaGraph ?? stated.cudaGraph,
  };
  const fields = (['model', ...needs] as const).filter((field) => known[field] === undefined);
  if (fields.length > 0) return { kind: 'lacking', fields };
  const { model = 'unnamed', precision, shapes = {}, cudaGraph = false } = known;
  return {
    kind: 'complete',
    cell: keyedCell({
      model,
      precision: isOneOf(PRECISIONS, precision) ? precision : 'unstated',
      precisionVia: 'engine',
      shapes,
      cudaGraph,
      dataTransfers: report.transfers ?? false,
      streams: 1,
      spinWait: true,
      inputs: { kind: 'random' },
      axisFlags: report.identity,
      harness: harnessOf(report.harness, stated),
    }),
  };
}

/** The user may state a timer if the report does not. */
export function harnessOf(harness: CellHarness, { timer }: StatedCell): CellHarness {
  return harness.timer === 'unknown' && timer !== undefined ? { ...harness, timer } : harness;
}

/** A report may state only its batch; the user states the remaining dimensions. */
function shapesOf(own: Shapes | null, stated: Shapes | undefined): Shapes | undefined {
  const batch = own === null ? null : batchOf(own);
  const isBatchOnly = own !== null && Object.values(own).every((dims) => dims.length === 1);
  if (own === null) return stated;
  if (stated === undefined || batch === null || !isBatchOnly || batchOf(stated) === null) {
    return own;
  }
  return Object.fromEntries(Object.entries(stated).map(([input, dims]) => [input, [batch, ...dims.slice(1)]]));
}
