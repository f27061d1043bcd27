import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { wrapWords } from '../../terminal/text-width.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { count } from '../../terminal/numbers.ts';
import type { InitOutput } from './output.ts';

export function initText(written: InitOutput, { columns, style }: Look): string[] {
  const { cells, file, gpus, lacking, models, runs, schemaFile, skipped, trtexec } = written;
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

function modelLine({ name, precisions, dimensions }: InitOutput['models'][number]): string {
  const sizes = dimensions.map((each) => `${each.name} ${each.values.join(' ')}`);
  const parts = [precisions.map(({ precision }) => precision).join(' '), ...sizes];
  return `  ${printable(name)}: ${parts.join(' · ')}`;
}
