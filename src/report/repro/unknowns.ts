import type { Reproduction } from '../../domain/reproduction.ts';

/** What a repetition would need, and nobody wrote down. */
export function unknownsOf(repro: Reproduction): string[] {
  const { build, commandLine, conversion, engine, environment, git, model, run, trtexec } = repro;
  const facts: readonly (readonly [text: string, isUnknown: boolean])[] = [
    ['the command line', build === null && run === null && commandLine === null],
    ['the arguments one by one: import the folder with its run.json', commandLine !== null],
    ['how the engine was built', run !== null && build === null && engine.isGiven],
    ['how its model was converted', conversion !== null && conversion.args === null],
    ['the version of ModelOpt', conversion !== null && conversion.record === null],
    ['the SHA-256 of the model', (model?.sha256 ?? null) === null],
    ['the SHA-256 of the engine', engine.sha256 === null],
    ['the SHA-256 of trtexec', (trtexec?.sha256 ?? null) === null],
    ['the TensorRT library that trtexec loaded', (environment['tensorrtLibrary'] ?? null) === null],
    ['the GPU', (environment['gpuName'] ?? null) === null],
    ['the driver', (environment['driver'] ?? null) === null],
    ['whether clocks were locked', repro.clockPolicy === null],
    [
      'the environment variables',
      repro.source === 'stored' && repro.run === null && build === null,
    ],
    ['the commit', git.commit === null],
  ];
  return facts.flatMap(([text, isUnknown]) => (isUnknown ? [text] : []));
}
