import { MatrixError } from '../../errors.ts';
import { readSchema } from '../yaml/schema-mistakes.ts';
import { type SlurmSettings, slurmSchema } from './slurm-schema.ts';
import type { SourceEntry } from '../yaml/source-node.ts';
import { readYaml } from '../yaml/yaml-source.ts';

/**
 * A profile: what stands under `slurm:` in a matrix, as a file of its own.
 * @throws MatrixError with every mistake that was found
 */
export function readSlurmProfile(path: string, text: string | null): SlurmSettings {
  const start = { file: path, line: 1, column: 1 };
  if (text === null) {
    throw new MatrixError([{ at: start, problem: 'no such file, or it cannot be read' }]);
  }
  const { root, mistakes } = readYaml(path, text);
  if (mistakes.length > 0) throw new MatrixError(mistakes);
  if (root.kind !== 'map') {
    throw new MatrixError([{ at: root.at, problem: 'a profile is a map: partition: gpu' }]);
  }
  // A profile may have been cut out of a matrix with its heading.
  const only: SourceEntry | undefined = root.entries.size === 1 ? root.entries.get('slurm') : undefined;
  const reading = readSchema(only?.node ?? root, slurmSchema);
  if (reading.file === null || reading.mistakes.length > 0) throw new MatrixError(reading.mistakes);
  return reading.file;
}

/** One setting from the command line, `partition=gpu`; a value as YAML has it. */
export function readSlurmSetting(text: string): SlurmSettings {
  const [, key = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  if (key === '') {
    const at = { file: '--slurm', line: 1, column: 1 };
    throw new MatrixError([{ at, problem: 'write KEY=VALUE, such as partition=gpu' }]);
  }
  return readSlurmProfile('--slurm', `${key}: ${value}`);
}
