import type { AccuracyDrop } from '../../judge/accuracy-drop.ts';
import type { Accuracy, AccuracyInputs } from '../../records/accuracy.ts';
import type { Precision } from '../../records/precision.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDecibels, formatNumber } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { truncate, wrapWords } from '../../terminal/text-width.ts';

interface ReportedPair {
  readonly model: string;
  readonly precision: Precision | null;
  readonly referencePrecision: Precision | null;
  readonly reference: string;
  readonly variant: string;
}

interface Kept {
  readonly pair: ReportedPair;
  readonly stored: boolean;
  /** Beside the newest accuracy on the same inputs; null without one. */
  readonly drop: AccuracyDrop | null;
}

interface ComparedRow extends Kept {
  readonly kind: 'compared';
  readonly referenceSha256: string;
  readonly variantSha256: string;
  readonly inputs: AccuracyInputs;
  readonly accuracy: Accuracy;
  readonly versions: Readonly<Record<string, string>>;
}

interface FailedRow extends Kept {
  readonly kind: 'failed';
  readonly problem: string;
}

export type AccuracyRow = ComparedRow | FailedRow;

export interface AccuracyReport {
  readonly rows: readonly AccuracyRow[];
  readonly notes: readonly string[];
  readonly maxDropDb: number;
}

export function accuracyJson({ rows, notes, maxDropDb }: AccuracyReport) {
  return { schemaVersion: 1, maxDropDb, comparisons: rows.map(rowJson), notes };
}

function rowJson(row: AccuracyRow) {
  const { model, precision, referencePrecision, reference, variant } = row.pair;
  if (row.kind === 'failed') {
    return { kind: row.kind, model, precision, reference, variant, problem: row.problem };
  }
  const { kind, referenceSha256, variantSha256, inputs, versions, accuracy, stored, drop } = row;
  return {
    kind,
    model,
    precision,
    referencePrecision,
    reference,
    variant,
    referenceSha256,
    variantSha256,
    inputs,
    versions,
    accuracy,
    stored,
    before:
      drop === null
        ? null
        : {
            measuredAt: drop.before.measuredAt,
            sqnrDb: drop.before.accuracy.sqnrDb,
            dropDb: Number.isFinite(drop.dropDb) ? drop.dropDb : null,
            isRegression: drop.isRegression,
          },
  };
}

export function accuracyText({ rows, notes, maxDropDb }: AccuracyReport, look: Look): string[] {
  const { style, columns } = look;
  const compared = rows.filter((row) => row.kind === 'compared');
  const failed = rows.filter((row) => row.kind === 'failed');
  const fallen = compared.filter(({ drop }) => drop?.isRegression === true);
  const [first] = compared;
  return [
    ...(compared.length === 0 ? [] : tableOf(compared, look)),
    ...(first === undefined ? [] : wrapWords(methodWords(first), columns).map((line) => style.dim(line))),
    ...fallen.map((row) => style.bad(truncate(fallWords(row, maxDropDb), columns))),
    ...failed.map(({ pair, problem }) => style.bad(truncate(`${pairName(pair)}: ${problem}`, columns))),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
  ];
}

function tableOf(rows: readonly ComparedRow[], look: Look): string[] {
  const right = 'right' as const;
  const columns: Column<ComparedRow>[] = [
    { header: 'model', text: ({ pair }) => printable(pair.model), minWidth: 8 },
    { header: 'precision', text: ({ pair }) => pair.precision ?? '', minWidth: 4 },
    { header: 'against', text: ({ pair }) => pair.referencePrecision ?? '', dropRank: 6 },
    { header: 'SQNR', text: ({ accuracy }) => formatDecibels(accuracy.sqnrDb), align: right },
    {
      header: 'before',
      text: ({ drop }) => (drop === null ? '' : formatDecibels(drop.before.accuracy.sqnrDb)),
      align: right,
      dropRank: 4,
    },
    { header: 'cosine', text: ({ accuracy }) => accuracy.cosineMean.toFixed(5), align: right, dropRank: 3 },
    { header: 'worst', text: ({ accuracy }) => accuracy.cosineMin.toFixed(5), align: right, dropRank: 2 },
    { header: 'largest error', text: ({ accuracy }) => formatNumber(accuracy.maxAbsError), align: right, dropRank: 5 },
    {
      header: 'top-1',
      text: ({ accuracy: { top1 } }) => (top1 === null ? '' : `${top1.same}/${top1.of}`),
      align: right,
      dropRank: 1,
    },
    {
      header: 'own metric',
      text: ({ accuracy: { custom } }) =>
        custom === null ? '' : `${formatNumber(custom.reference)} → ${formatNumber(custom.variant)}`,
      align: right,
    },
  ];
  const whole = ({ drop }: ComparedRow): ((text: string) => string) =>
    drop?.isRegression === true ? look.style.bad : (text) => text;
  return renderTable(
    columns.map((column) => ({ ...column, style: whole })),
    rows,
    look,
  );
}

/** What the figures rest on. */
function methodWords({ accuracy, inputs, versions }: ComparedRow): string {
  const samples = count(accuracy.samples, 'sample');
  const emulated = `onnxruntime ${printable(versions['onnxruntime'] ?? '')} on the CPU: an emulation, not the engine's own kernels`;
  switch (inputs.kind) {
    case 'exported':
      return `${samples} that the engines wrote themselves (--exportOutput); give both the same --loadInputs`;
    case 'file':
      return `${samples} of a file (${inputs.sha256.slice(0, 8)}); ${emulated}`;
    case 'random':
      return `${samples} of ${inputs.distribution} random values, seed ${inputs.seed}; ${emulated}`;
  }
}

function fallWords({ pair, accuracy, drop }: ComparedRow, maxDropDb: number): string {
  const was = drop?.before.accuracy.sqnrDb ?? null;
  return `${pairName(pair)}: accuracy fell from ${formatDecibels(was)} to ${formatDecibels(accuracy.sqnrDb)}, by more than ${formatNumber(maxDropDb, 2)} dB (since ${drop?.before.measuredAt.slice(0, 10) ?? ''})`;
}

function pairName({ model, precision }: ReportedPair): string {
  return printable([model, precision ?? ''].join(' ').trim());
}
