import { readFileSync } from 'node:fs';
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
