import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import type { Reproduction } from './reproduction.ts';
import { harnessScript } from './harness-script.ts';
import { outputOf, reproText } from './repro-report.ts';
import { reproScript } from './script.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { namedRun } from '../../selection/by-name.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { gatherReproduction } from './gather.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ReproOptions } from './command.ts';

/** `bench repro RUN`: what it takes to run a stored run again without bench. */
export async function repro(name: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { json, script } = options;
  const file = script === undefined || script === true || script === '-' ? null : script;
  if (json === true && script !== undefined && file === null) {
    throw new UsageError('only one thing can go to standard output: name a file, --script repro.sh');
  }
  return withStore(options, io, async (store) => {
    const found = await gatherReproduction(store, namedRun(store.db, name), io.cwd);
    if (script !== undefined) {
      const text = scriptOf(found);
      if (file === null) io.out(text);
      else {
        const hidden = options.redact === true ? redactionFor(io, options, text).text(text) : text;
        await writeOutput(file, [hidden], io, 0o755);
        if (json !== true) io.err(`wrote ${printable(file)}\n`);
      }
    }
    if (json === true || script === undefined) printResult(io, options, outputOf(found, file), reproText);
    return EXIT_CODES.fine;
  });
}

function scriptOf(found: Reproduction): string {
  const { build, commandLine, harness, run, runId, start } = found;
  const words = [
    ...(build?.argv ?? []),
    ...(run?.argv ?? []),
    ...(found.conversion?.args ?? []),
    ...(start?.argv ?? []),
  ];
  const short = runId.slice(0, 8);
  if (commandLine !== null) {
    throw new UsageError(
      `run ${short}: its log tells the arguments only joined, without quotes: no script is made of a guess (\`bench repro ${short}\` prints them)`,
    );
  }
  if (build === null && run === null) {
    throw new UsageError(`run ${short}: its command line is not known, so there is nothing to repeat`);
  }
  if (words.some((word) => word.includes('\0'))) {
    throw new UsageError(`run ${short}: an argument has a zero byte, which no process can be given`);
  }
  if (harness === null) return reproScript(found);
  if (start === null) {
    throw new UsageError(
      `run ${short} was measured by ${printable(harness)}, and no plan in this store says how that was started (\`bench repro ${short}\` prints its command line)`,
    );
  }
  return harnessScript(found, start);
}
