import type { Reproduction } from './reproduction.ts';

/** What a repetition would need, and nobody wrote down. */
export function unknownsOf(repro: Reproduction): string[] {
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
