import { readFileSync } from 'node:fs';

import { writeAtomically } from '../../artefacts/files.ts';
import { isRecord } from '../../text/unknown-values.ts';

/** When a task of each shard was last seen at work or in the queue: what a look at Slurm leaves for the next one. */
export function readSeen(path: string): Map<number, number> {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const entries = isRecord(parsed) ? Object.entries(parsed) : [];
    return new Map(
      entries.flatMap(([shard, at]): [number, number][] => {
        const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN;
        return Number.isNaN(ms) ? [] : [[Number(shard), ms]];
      }),
    );
  } catch {
    return new Map();
  }
}

export async function saveSeen(path: string, seenMs: ReadonlyMap<number, number>): Promise<void> {
  const content = Object.fromEntries([...seenMs].map(([shard, ms]) => [shard, new Date(ms).toISOString()]));
  // Where the folder may only be read, nothing is remembered from look to look.
  await writeAtomically(path, `${JSON.stringify(content)}\n`).catch(() => {});
}
