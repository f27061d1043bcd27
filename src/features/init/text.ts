import type { DraftModel, SkippedFile } from './matrix-draft.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { wrapWords } from '../../terminal/text-width.ts';
import { shellQuote } from '../../text/shell-quote.ts';

export interface InitReport {
  /** As it was named. */
  readonly file: string;
  /** Null when it was there already. */
  readonly schemaFile: string | null;
  readonly trtexec: { readonly path: string; readonly version: string | null } | null;
  readonly gpus: readonly string[];
  readonly models: readonly DraftModel[];
  readonly skipped: readonly SkippedFile[];
  /** What keeps the matrix from running here. */
  readonly lacking: readonly string[];
  readonly cells: number;
  readonly runs: number;
}

export function initJson(report: InitReport) {
  const { cells, file, gpus, lacking, models, runs, schemaFile, skipped, trtexec } = report;
  return {
    schemaVersion: 1,
    file,
    schemaFile,
    trtexec,
    gpus,
    models: models.map(({ dimensions, name, onnx, precisions }) => ({
      name,
      onnx,
      precisions: precisions.map(({ precision, source, why }) => ({
        precision,
        source: source.kind === 'word' ? source.word : source.path,
        why,
      })),
      dimensions,
    })),
    skipped,
    lacking,
    cells,
    runs,
  };
}

export function initText(report: InitReport, { columns, style }: Look): string[] {
  const { cells, file, gpus, lacking, models, runs, schemaFile, skipped, trtexec } = report;
  const counted = `${count(models.length, 'model')}, ${count(cells, 'cell')}, ${count(runs, 'run')}`;
  const command = shellQuote(file);
  const isKnown = trtexec !== null && trtexec.version !== null;
  const warned = (text: string): string[] => wrapWords(printable(text), columns).map((line) => style.warn(line));
  return [
    `${style.strong(printable(file))}: ${counted}`,
    ...models.map(modelLine),
    ...skipped.flatMap(({ path, problem }) => warned(`left out: ${path}: ${problem}`)),
    ...(trtexec === null || trtexec.version === null ? [] : [`trtexec ${trtexec.version}: ${printable(trtexec.path)}`]),
    ...(gpus.length === 0 ? [] : [`GPU: ${gpus.map((name) => printable(name)).join(', ')}`]),
    ...(schemaFile === null ? [] : [`for editors that complete: ${printable(schemaFile)}`]),
    ...lacking.flatMap((what) => warned(`missing: ${what}`)),
    lacking.length === 0
      ? `next: bench plan ${command}, then bench run ${command}`
      : `next: bench plan ${command}${isKnown ? '' : ' --tensorrt 10.6'}; bench doctor says what to do about what is missing`,
  ];
}

function modelLine({ name, precisions, dimensions }: DraftModel): string {
  const sizes = dimensions.map((each) => `${each.name} ${each.values.join(' ')}`);
  const parts = [precisions.map(({ precision }) => precision).join(' '), ...sizes];
  return `  ${printable(name)}: ${parts.join(' · ')}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
