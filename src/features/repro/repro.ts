import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { lockOf } from '../../machine/requests.ts';
import { namedRun } from '../../selection/by-name.ts';
import type { Look } from '../../terminal/look.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { shellLine, shellQuote } from '../../text/shell-quote.ts';
import { convertedWords } from '../../variants/conversion.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction } from './gather.ts';
import type { ReproOutput } from './output.ts';
import { clockBounds, reproScript } from './script.ts';

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

const INDENT = 11;

export function reproText(repro: ReproOutput, look: Look): string[] {
  const { build, commandLine, environment, git, harness, label, repeat, run, runId, source, startedAt } = repro;
  const { columns, style } = look;
  const field = (name: string, text: string): string[] =>
    text === '' ? [] : wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, INDENT);
  const file = (name: string, path: string | null | undefined, sha256: string | null | undefined) =>
    field(name, [path && shellQuote(path), sha256 && `sha256 ${sha256}`].filter(Boolean).join(', '));
  const by = harness === null ? '' : ` by ${harness}`;
  const whose = source === 'recorder' ? ', the command lines are those of its recorder' : '';
  const branch = git.branch === null ? '' : ` (${git.branch})`;
  const set = Object.entries({ ...repro.env, ...repro.start?.env, ...repro.axisEnv }).map(([name, value]) =>
    value === null ? `${name} (taken away)` : `${name}=${shellQuote(value)}`,
  );
  const buildTitle = build?.runId ? `build (run ${build.runId.slice(0, 8)})` : 'build';
  return [
    ...wrapHanging(`${printable(label)} · run ${runId.slice(0, 8)} #${repeat}`, columns, 2).map(style.strong),
    ...field(
      'what',
      `${repro.role} run${by}, ${repro.provenance}${whose}${startedAt === null ? '' : `, ${startedAt}`}`,
    ),
    ...field('commit', git.commit === null ? '' : `${git.commit}${branch}${git.dirty === true ? ', not clean' : ''}`),
    ...field('bench', repro.toolVersion),
    ...field('where', repro.start?.cwd ?? ''),
    ...file('model', repro.model?.path, repro.model?.sha256),
    ...file('trtexec', repro.trtexec?.path, repro.trtexec?.sha256),
    ...file('engine', repro.engine.cachedPath, repro.engine.sha256),
    ...file('timing', null, repro.timingCacheSha256),
    ...repro.inputs.flatMap(({ path, sha256 }) => file('input', path, sha256)),
    ...machineLines(environment, null, look),
    ...field('clocks', clockText(repro)),
    ...field('env', set.join(' ')),
    ...field('', repro.withheld === 0 ? '' : `${repro.withheld} more left out, as they may hold secrets`),
    ...conversionLines(repro),
    ...(build === null ? [] : ['', style.strong(buildTitle), shellLine(build.localArgv)]),
    ...(run === null ? [] : ['', style.strong('run'), shellLine(run.localArgv)]),
    ...(commandLine === null
      ? []
      : ['', style.strong('run, as its log says: arguments joined without quotes'), printable(commandLine)]),
    '',
    ...repro.unknown.flatMap((text) => wrapHanging(`not known: ${printable(text)}`, columns, 2)),
    ...repro.notes.flatMap((text) => wrapHanging(`note: ${printable(text)}`, columns, 2)),
  ];
}

function clockText({ clockPolicy }: ReproOutput): string {
  if (clockPolicy === null) return '';
  const lock = lockOf(clockPolicy);
  if (lock === null) return `${clockPolicy}: nothing to set`;
  const bounds = clockBounds(lock);
  if (bounds === null) return lock;
  const clocks = bounds === 'tdp,tdp' ? 'base' : (bounds.split(',')[0] ?? '');
  return `${lock}: sudo nvidia-smi -i 0 -lgc ${bounds}, and -rgc behind it (bench run --lock-clocks ${clocks})`;
}

function conversionLines({ conversion }: ReproOutput): string[] {
  if (conversion === null) return [];
  const { argv, record } = conversion;
  const version = record?.packages['nvidia-modelopt'] ?? null;
  const made = record === null ? '' : `: ${convertedWords(record.by, record.converted)}`;
  const title = `convert, with ModelOpt ${version === null ? 'of unknown version' : printable(version)}${made}`;
  const command = argv === null ? [] : [shellLine(argv)];
  return ['', title, ...command];
}
