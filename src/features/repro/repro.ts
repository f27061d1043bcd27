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
  if (options.base !== undefined || options.reduce !== undefined || options.model !== undefined) {
    throw new UsageError('--base, --reduce and --model need --bundle FILE.zip');
  }
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
  const bounds = clockBounds(clockPolicy);
  const by = `${repro.role} run${harness === null ? '' : ` by ${harness}`}`;
  const fields: readonly (readonly [name: string, ...parts: readonly (string | null | undefined | false)[]])[] = [
    ['what', by, repro.provenance, repro.source === 'recorder' && 'as its recorder ran it', startedAt],
    ['commit', git.commit, git.branch, git.dirty === true && 'uncommitted changes'],
    ['bench', repro.toolVersion],
    ['where', start?.cwd],
    ['model', ...fileText(repro.model)],
    ['trtexec', ...fileText(repro.trtexec)],
    ['engine', ...fileText(repro.engine)],
    ...repro.inputs.map((input) => ['input', ...fileText(input)] as const),
    ['clocks', clockPolicy, bounds !== null && `sudo nvidia-smi -i 0 -lgc ${bounds}, and -rgc afterwards`],
    ['env', envText({ ...repro.env, ...start?.env, ...repro.axisEnv }).trimEnd()],
    ['', repro.withheld > 0 && `${repro.withheld} variables left out, as they may hold secrets`],
  ];
  const made = ['convert', ...(conversion?.record ? variantNotes(conversion.record) : [])].map(printable).join(': ');
  const commands: readonly (readonly [title: string, line: string | null])[] = [
    [made, conversion && shellLine(conversion.argv ?? [])],
    [build?.runId ? `build (run ${build.runId.slice(0, 8)})` : 'build', build && shellLine(build.localArgv)],
    ['run', run && shellLine(run.localArgv)],
    ['run, as its log says: arguments joined without quotes', commandLine && printable(commandLine)],
  ];
  return [
    ...wrapHanging(`${printable(repro.label)} · run ${runId.slice(0, 8)}`, columns, 2).map(style.strong),
    ...fields.flatMap(([name, ...parts]) => {
      const text = parts.filter(Boolean).join(', ');
      return text === '' ? [] : wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, 11);
    }),
    ...machineLines(repro.environment, null, look),
    ...commands.flatMap(([title, line]) => (line === null ? [] : ['', style.strong(title), line])),
    '',
    ...repro.unknown.flatMap((text) => wrapHanging(`not known: ${printable(text)}`, columns, 2)),
  ];
}

function fileText(file: { readonly path?: string; readonly sha256: string | null } | null) {
  return [file?.path && shellQuote(file.path), file?.sha256 && `sha256 ${file.sha256}`];
}
