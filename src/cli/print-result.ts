import type { Look } from '../terminal/look.ts';
import { jsonText } from '../text/printable.ts';
import { type Io, printLines } from './io.ts';

/** A command's result: the documented object with `--json`, else the text that renders it. */
export function printResult<Output>(
  io: Io,
  { json = false }: { readonly json?: boolean },
  output: Output,
  text: (output: Output, look: Look) => readonly string[],
): void {
  if (json) io.out(`${jsonText(output)}\n`);
  else printLines(io, text(output, io.look));
}
