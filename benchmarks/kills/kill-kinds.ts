import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A way to end a sweep. */
export interface KillKind {
  readonly name: string;
  readonly signal: 'SIGHUP' | 'SIGINT' | 'SIGKILL' | 'SIGTERM';
  /** As systemd and `scancel` do it: all that bench has started is signalled before bench is. */
  readonly isToTree: boolean;
}

export const KILL_KINDS: readonly KillKind[] = (['SIGKILL', 'SIGTERM', 'SIGHUP', 'SIGINT'] as const).flatMap(
  (signal) => [
    { name: `${signal} to bench`, signal, isToTree: false },
    { name: `${signal} to the tree, trtexec first`, signal, isToTree: true },
  ],
);

/** @returns whether bench had a process running then */
export function sendKill(bench: ChildProcess, { isToTree, signal }: KillKind): boolean {
  const started = bench.pid === undefined ? [] : descendantsOf(bench.pid);
  if (isToTree) {
    for (const pid of started) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended by itself.
      }
    }
  }
  bench.kill(signal);
  return started.length > 0;
}

/** The youngest generation first. */
function descendantsOf(ancestor: number): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const parent = parentOf(name);
    return parent === null ? [] : [{ pid: Number(name), parent }];
  });
  const found: number[] = [];
  for (let generation = [ancestor]; generation.length > 0;) {
    generation = parents.filter(({ parent }) => generation.includes(parent)).map(({ pid }) => pid);
    found.unshift(...generation);
  }
  return found;
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(join('/proc', pid, 'stat'), 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}
