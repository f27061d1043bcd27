import type { ChildProcess } from 'node:child_process';

import { processFiles } from '../processes.ts';

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
  const parents = processFiles('stat').map(({ pid, text }) => ({
    pid,
    parent: Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]),
  }));
  const found: number[] = [];
  for (let generation = [ancestor]; generation.length > 0;) {
    generation = parents.filter(({ parent }) => generation.includes(parent)).map(({ pid }) => pid);
    found.unshift(...generation);
  }
  return found;
}
