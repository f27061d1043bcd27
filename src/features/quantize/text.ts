import { printable } from '../../text/printable.ts';
import { formatDuration } from '../../terminal/numbers.ts';
import type { QuantizeOutput } from './output.ts';

export function quantizeText({ how, notes, output, path, wallS }: QuantizeOutput): string[] {
  const when = wallS === null ? how : `${how} in ${formatDuration(wallS)}`;
  const [what = '', ...more] = notes;
  return [`${what} (${when})`, ...more, printable(output ?? path)];
}
