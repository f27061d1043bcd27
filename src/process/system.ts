import process from 'node:process';

import { EnvironmentLackingError } from '../errors.ts';

const NAMES: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'macOS', win32: 'Windows' };

/** Commands that need only a store, a matrix or logs, not the machine that measured. */
export const PORTABLE_COMMANDS = ['plan', 'import', 'parse', 'compare', 'check', 'trend', 'report'] as const;

/** Why this machine cannot measure; null on Linux. */
export function otherSystem(platform: NodeJS.Platform = process.platform): EnvironmentLackingError | null {
  if (platform === 'linux') return null;
  return new EnvironmentLackingError(
    `measuring needs Linux with an NVIDIA GPU and trtexec, and this is ${NAMES[platform] ?? platform}: measure there, and bring the store or its artefacts here for ${PORTABLE_COMMANDS.slice(1, -1).join(', ')} and ${PORTABLE_COMMANDS.at(-1) ?? ''}`,
  );
}
