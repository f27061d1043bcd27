import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { type SlurmSettings, readSlurmProfile, readSlurmSetting } from '../../matrix/schema/slurm-schema.ts';
import type { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import type { SubmitContext } from './submit.ts';
import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../cli/store-location.ts';

export interface SettingsOptions {
  readonly slurmProfile?: string;
  /** `KEY=VALUE`, each. */
  readonly slurm?: readonly string[];
}

/** The settings of the matrix or the plan, then the profile, then single settings: the later wins. */
export function settingsOf(below: SlurmSettings, { slurmProfile, slurm = [] }: SettingsOptions, io: Io): SlurmSettings {
  const profile =
    slurmProfile === undefined ? {} : readSlurmProfile(slurmProfile, readOrNull(resolve(io.cwd, slurmProfile)));
  return Object.assign({}, below, profile, ...slurm.map(readSlurmSetting));
}

/** Slurm gets five minutes to take a job, and no more. */
const PATIENCE_S = 300;

export function submitContext(client: SlurmClient, io: Io): SubmitContext {
  return {
    client,
    env: io.env,
    program: benchProgram(),
    now: io.now,
    signal: io.signal,
    onNote: (text) => io.err(`note: ${text}\n`),
    patienceS: PATIENCE_S,
  };
}

/** Node by its path: the PATH of a compute node may have another one, or none. */
export function benchProgram(): string[] {
  return [process.execPath, join(packageFolder(), 'bin', 'bench.js')];
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
