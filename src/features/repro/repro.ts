import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { namedRun } from '../../selection/by-name.ts';
import type { Look } from '../../terminal/look.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { envText, shellLine, shellQuote } from '../../text/shell-quote.ts';
import { variantNotes } from '../../records/conversion.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction } from './gather.ts';
import type { ReproOutput } from './output.ts';
import { clockBounds, reproScript } from './script.ts';

export async function reproduce(name: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { json, script } = options;
  const without = (['base', 'reduce', 'model'] as const).find((option) => options[option] !== undefined);
  if (without !== undefined) throw new UsageError(`--${without} needs --bundle: add --bundle FILE.zip`);
  const file = script === undefined || script === true || script === '-' ? null : script;
  if (json === true && script !== undefined && file === null) {
    throw new UsageError('only one thing can go to standard output: name a file, --script repro.sh');
  }
  return withStore(options, io, async (store) => {
    const found = await gatherReproduction(store, namedRun(store.db, name), io.cwd);
    const text = script === undefined ? '' : reproScript(found);
    if (file !== null) {
      const hidden = options.redact === true ? redactionFor(io, options, text).text(text) : text;
      await writeOutput(file, [hidden], io, 0o755);
      if (json !== true) io.err(`wrote ${printable(file)}\n`);
    } else io.out(text);
    if (json === true || script === undefined) printResult(io, options, { ...found, script: file }, reproText);
    return EXIT_CODES.fine;
  });
}

export function reproText(repro: ReproOutput, look: Look): string[] {
  const { build, clockPolicy, commandLine, conversion, git, harness, run, runId, start, startedAt } = repro;
  const { columns, style } = look;
  const field = (name: string, ...parts: readonly (string | null | undefined | false)[]): string[] => {
    const text = parts.filter(Boolean).join(', ');
    return text === '' ? [] : wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, 11);
  };
  const file = (name: string, { path, sha256 }: { readonly path?: string; readonly sha256?: string | null }) =>
    field(name, path && shellQuote(path), sha256 && `sha256 ${sha256}`);
  const command = (title: string, line: string): string[] => ['', style.strong(title), line];
  const bounds = clockBounds(clockPolicy);
  return [
    ...wrapHanging(`${printable(repro.label)} · run ${runId.slice(0, 8)}`, columns, 2).map(style.strong),
    ...field(
      'what',
      `${repro.role} run${harness === null ? '' : ` by ${harness}`}`,
      repro.provenance,
      repro.source === 'recorder' && 'the command lines are those of its recorder',
      startedAt,
    ),
    ...field('commit', git.commit, git.branch, git.dirty === true && 'uncommitted changes'),
    ...field('bench', repro.toolVersion),
    ...field('where', start?.cwd),
    ...file('model', repro.model ?? {}),
    ...file('trtexec', repro.trtexec ?? {}),
    ...file('engine', repro.engine),
    ...repro.inputs.flatMap((input) => file('input', input)),
    ...machineLines(repro.environment, null, look),
    ...field('clocks', clockPolicy, bounds !== null && `sudo nvidia-smi -i 0 -lgc ${bounds}, and -rgc afterwards`),
    ...field('env', envText({ ...repro.env, ...start?.env, ...repro.axisEnv }).trimEnd()),
    ...field('', repro.withheld > 0 && `${repro.withheld} more left out, as they may hold secrets`),
    ...(conversion === null
      ? []
      : command(
          ['convert', ...(conversion.record === null ? [] : variantNotes(conversion.record))].map(printable).join(': '),
          shellLine(conversion.argv ?? []),
        )),
    ...(build === null
      ? []
      : command(build.runId === null ? 'build' : `build (run ${build.runId.slice(0, 8)})`, shellLine(build.localArgv))),
    ...(run === null ? [] : command('run', shellLine(run.localArgv))),
    ...(commandLine === null
      ? []
      : command('run, as its log says: arguments joined without quotes', printable(commandLine))),
    '',
    ...repro.unknown.flatMap((text) => wrapHanging(`not known: ${printable(text)}`, columns, 2)),
  ];
}
