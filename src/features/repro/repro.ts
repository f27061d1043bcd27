import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import type { Reproduction, ReproCommand } from './reproduction.ts';
import { harnessScript } from './harness-script.ts';
import { reproScript } from './script.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { namedRun } from '../../selection/by-name.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { gatherReproduction } from './gather.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ReproOptions } from './command.ts';
import type { ReproOutput } from './output.ts';
import { localArgv } from './reproduction.ts';
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

export function scriptOf(found: Reproduction): string {
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

export function outputOf(repro: Reproduction, script: string | null): ReproOutput {
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
