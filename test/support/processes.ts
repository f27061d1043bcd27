import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** True when a process has ended, also when nobody has waited for it yet (a zombie). */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return true;
  }
}

/** A process that was killed is gone when the kernel has got round to it: on a busy machine that takes a moment. */
export async function untilGone(pid: number): Promise<void> {
  while (!isGone(pid)) await sleep(10);
}

/**
 * The process ids that another process writes into a file, one on a line. The file is there before its text is: read
 * too early it would give 0, and what is sent to process 0 ends the tests themselves.
 */
export async function writtenPids(path: string): Promise<[number, ...number[]]> {
  for (;;) {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const [first, ...others] = text.endsWith('\n') ? text.trimEnd().split('\n').map(Number) : [];
    if (first !== undefined) return [first, ...others];
    await sleep(20);
  }
}
