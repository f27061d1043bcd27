import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import type { Reproduction, ReproCommand } from './reproduction.ts';
import { harnessScript } from './harness-script.ts';
import { reproScript, clockBounds } from './script.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { namedRun } from '../../selection/by-name.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { gatherReproduction } from './gather.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ReproOptions } from './command.ts';
import { lockOf } from '../../machine/requests.ts';
import type { Look } from '../../terminal/look.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { shellLine, shellQuote } from '../../text/shell-quote.ts';
import { convertedWords } from '../../variants/conversion.ts';
import type { ReproOutput } from './output.ts';
import { localArgv } from './reproduction.ts';

export async function reproduce(name: string, options: ReproOptions, io: Io): Promise<ExitCode> {
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

function outputOf(repro: Reproduction, script: string | null): ReproOutput {
  const { build, conversion, run, ...rest } = repro;
  return {
    schemaVersion: 1,
    ...rest,
    conversion: conversion && { ...conversion, argv: conversion.args && ['python3', ...conversion.args] },
    build: build && commandOf(build),
    run: run && commandOf(run),
    unknown: unknownsOf(repro),
    script,
  };
}

function commandOf({ argv, runId, words }: ReproCommand): NonNullable<ReproOutput['run']> {
  return { argv, localArgv: localArgv(words), runId };
}

function reproText(repro: ReproOutput, look: Look): string[] {
  const { build, commandLine, environment, label, repeat, run, runId } = repro;
  const { columns, style } = look;
  return [
    ...wrapHanging(`${printable(label)} · run ${runId.slice(0, 8)} #${repeat}`, columns, 2).map(style.strong),
    ...fields(repro, look),
    ...machineLines(environment, null, look),
    ...field('clocks', clockText(repro), look),
    ...variableLines(repro, look),
    ...conversionLines(repro),
    ...(build === null ? [] : ['', style.strong(buildTitle(repro)), shellLine(build.localArgv)]),
    ...(run === null ? [] : ['', style.strong('run'), shellLine(run.localArgv)]),
    ...(commandLine === null
      ? []
      : ['', style.strong('run, as its log says: arguments joined without quotes'), printable(commandLine)]),
    '',
    ...repro.unknown.flatMap((text) => wrapHanging(`not known: ${printable(text)}`, columns, 2)),
    ...repro.notes.flatMap((text) => wrapHanging(`note: ${printable(text)}`, columns, 2)),
    ...calibrationNote(repro).flatMap((text) => wrapHanging(text, columns, 2)),
  ];
}

function calibrationNote({ conversion }: ReproOutput): string[] {
  switch (conversion?.calibration?.kind) {
    case 'random':
      return ['note: `--script` draws the calibration data that bench drew'];
    case 'file':
      return [`note: the calibration data are ${shellQuote(conversion.calibration.path)}`];
    case undefined:
      return [];
  }
}

function buildTitle({ build }: ReproOutput): string {
  const runId = build?.runId ?? null;
  return runId === null ? 'build' : `build (run ${runId.slice(0, 8)})`;
}

const INDENT = 11;

function field(name: string, text: string, { columns }: Look): string[] {
  if (text === '') return [];
  return wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, INDENT);
}

function fields(repro: ReproOutput, look: Look): string[] {
  const { engine, git, harness, inputs, model, provenance, role, source, startedAt, trtexec } = repro;
  const whose = source === 'recorder' ? ', the command lines are those of its recorder' : '';
  const when = startedAt === null ? '' : `, ${startedAt}`;
  const commit =
    git.commit === null
      ? ''
      : `${git.commit}${git.branch === null ? '' : ` (${git.branch})`}${git.dirty === true ? ', not clean' : ''}`;
  return [
    ...field('what', `${role} run${harness === null ? '' : ` by ${harness}`}, ${provenance}${whose}${when}`, look),
    ...field('commit', commit, look),
    ...field('bench', repro.toolVersion, look),
    ...field('where', repro.start?.cwd ?? '', look),
    ...hashField('model', model?.path ?? null, model?.sha256 ?? null, look),
    ...hashField('trtexec', trtexec?.path ?? null, trtexec?.sha256 ?? null, look),
    ...hashField('engine', engine.cachedPath, engine.sha256, look),
    ...hashField('timing', null, repro.timingCacheSha256, look),
    ...inputs.flatMap(({ path, sha256 }) => hashField('input', path, sha256, look)),
  ];
}

function hashField(name: string, path: string | null, sha256: string | null, look: Look): string[] {
  const parts = [path === null ? '' : shellQuote(path), sha256 === null ? '' : `sha256 ${sha256}`];
  return field(name, parts.filter((part) => part !== '').join(', '), look);
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

function variableLines({ axisEnv, env, start, withheld }: ReproOutput, look: Look): string[] {
  const set = Object.entries({ ...env, ...start?.env, ...axisEnv }).map(([name, value]) =>
    value === null ? `${name} (taken away)` : `${name}=${shellQuote(value)}`,
  );
  return [
    ...field('env', set.join(' '), look),
    ...field('', withheld === 0 ? '' : `${withheld} more left out, as they may hold secrets`, look),
  ];
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

/** Facts that a repetition would need but nothing recorded. */
function unknownsOf(repro: Reproduction): string[] {
  const { commandLine, environment, git, harness } = repro;
  const isBare = repro.build === null && repro.run === null;
  const facts: readonly (readonly [text: string, isUnknown: boolean])[] = [
    ['the command line', isBare && commandLine === null],
    ['the arguments one by one: import the folder with its run.json', commandLine !== null],
    ...(harness === null ? trtexecFacts(repro) : []),
    ['the GPU', (environment['gpuName'] ?? null) === null],
    ['the driver', (environment['driver'] ?? null) === null],
    ['whether clocks were locked', repro.clockPolicy === null],
    ['the environment variables', isBare],
    ['the commit', git.commit === null],
  ];
  return facts.flatMap(([text, isUnknown]) => (isUnknown ? [text] : []));
}

function trtexecFacts({
  build,
  conversion,
  engine,
  environment,
  model,
  run,
  trtexec,
}: Reproduction): (readonly [text: string, isUnknown: boolean])[] {
  return [
    ['how the engine was built', run !== null && build === null && engine.isGiven],
    ['how its model was converted', conversion !== null && conversion.args === null],
    ['the version of ModelOpt', conversion !== null && conversion.record === null],
    ['the SHA-256 of the model', (model?.sha256 ?? null) === null],
    ['the SHA-256 of the engine', engine.sha256 === null],
    ['the SHA-256 of trtexec', (trtexec?.sha256 ?? null) === null],
    ['the TensorRT library that trtexec loaded', (environment['tensorrtLibrary'] ?? null) === null],
  ];
}
