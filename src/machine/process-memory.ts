import { processTree } from './loaded-library.ts';
import { textOf } from './host-facts.ts';

/** Short enough to sample a run of a third of a second. */
const INTERVAL_MS = 200;

/** Host memory of a process and of those that it starts, read from /proc several times a second. */
export class ProcessMemory {
  /** IDs of all processes that were seen, the process itself first. */
  readonly pids = new Set<number>();
  private peakKib = 0;
  private timer: NodeJS.Timeout | undefined;

  watch(pid: number): void {
    this.stop();
    this.pids.clear();
    this.peakKib = 0;
    this.timer = setInterval(() => this.look(pid), INTERVAL_MS).unref();
  }

  /** Call this when the process has ended, because its ID may be reused soon. */
  stop(): void {
    clearInterval(this.timer);
  }

  /** The peak of the largest of its processes in MiB; null if none was seen, such as without /proc. */
  get peakMib(): number | null {
    return this.peakKib === 0 ? null : this.peakKib / 1024;
  }

  private look(pid: number): void {
    for (const each of processTree(pid)) {
      this.pids.add(each);
      this.peakKib = Math.max(this.peakKib, peakResidentKib(textOf(`/proc/${each}/status`) ?? ''));
    }
  }
}

/**
 * The kernel's record of the peak resident memory of a process in KiB; 0 for a process that has ended. Source:
 * proc_pid_status(5).
 */
function peakResidentKib(status: string): number {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0);
}
