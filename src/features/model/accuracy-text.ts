import { printable } from '../../text/printable.ts';
import type { AccuracyOutput, AccuracyRow, ComparedRow } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDecibels, formatNumber } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { truncate, wrapWords } from '../../terminal/text-width.ts';

export function accuracyText({ comparisons: rows, notes, maxDropDb }: AccuracyOutput, look: Look): string[] {
  const { style, columns } = look;
  const compared = rows.filter((row) => row.kind === 'compared');
  const failed = rows.filter((row) => row.kind === 'failed');
  const fallen = compared.filter(({ before }) => before?.isRegression === true);
  const [first] = compared;
  return [
    ...(compared.length === 0 ? [] : tableOf(compared, look)),
    ...(first === undefined ? [] : wrapWords(methodWords(first), columns).map((line) => style.dim(line))),
    ...fallen.map((row) => style.bad(truncate(fallWords(row, maxDropDb), columns))),
    ...failed.map((row) => style.bad(truncate(`${pairName(row)}: ${row.problem}`, columns))),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
  ];
}

function tableOf(rows: readonly ComparedRow[], look: Look): string[] {
  const right = 'right' as const;
  const columns: Column<ComparedRow>[] = [
    { header: 'model', text: ({ model }) => printable(model), minWidth: 8 },
    { header: 'precision', text: ({ precision }) => precision ?? '', minWidth: 4 },
    { header: 'against', text: ({ referencePrecision }) => referencePrecision ?? '', dropRank: 6 },
    { header: 'SQNR', text: ({ accuracy }) => formatDecibels(accuracy.sqnrDb), align: right },
    {
      header: 'before',
      text: ({ before }) => (before === null ? '' : formatDecibels(before.sqnrDb)),
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
  const whole = ({ before }: ComparedRow): ((text: string) => string) =>
    before?.isRegression === true ? look.style.bad : (text) => text;
  const styled = columns.map((column) => ({ ...column, style: whole }));
  return renderTable(styled, rows, look);
}

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

function fallWords(row: ComparedRow, maxDropDb: number): string {
  const { accuracy, before } = row;
  const was = before?.sqnrDb ?? null;
  return `${pairName(row)}: accuracy fell from ${formatDecibels(was)} to ${formatDecibels(accuracy.sqnrDb)}, by more than ${formatNumber(maxDropDb, 2)} dB (since ${before?.measuredAt.slice(0, 10) ?? ''})`;
}

function pairName({ model, precision }: AccuracyRow): string {
  return printable([model, precision ?? ''].join(' ').trim());
}
