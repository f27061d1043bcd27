import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { namedRun } from '../../selection/by-name.ts';
import { printable } from '../../text/printable.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction } from './gather.ts';
import { reproScript } from './script.ts';
import { reproText } from './text.ts';

export async function reproduce(name: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { json, script } = options;
  const without = (['base', 'reduce', 'model'] as const).find((option) => options[option] !== undefined);
  if (without !== undefined) throw new UsageError(`--${without} is about a bundle: add --bundle FILE.zip`);
  const file = script === undefined || script === true || script === '-' ? null : script;
  if (json === true && script !== undefined && file === null) {
    throw new UsageError('only one thing can go to standard output: name a file, --script repro.sh');
  }
  return withStore(options, io, async (store) => {
    const found = await gatherReproduction(store, namedRun(store.db, name), io.cwd);
    if (script !== undefined) {
      const text = reproScript(found);
      if (file === null) io.out(text);
      else {
        const hidden = options.redact === true ? redactionFor(io, options, text).text(text) : text;
        await writeOutput(file, [hidden], io, 0o755);
        if (json !== true) io.err(`wrote ${printable(file)}\n`);
      }
    }
    if (json === true || script === undefined) printResult(io, options, { ...found, script: file }, reproText);
    return EXIT_CODES.fine;
  });
}
