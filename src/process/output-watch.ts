import type { TimeLimit } from '../records/time-limit.ts';
import type { CappedLog } from './capped-log.ts';

/** Who follows what a process prints, and says when it has taken too long: see `PhaseWatch`. Seconds since its start. */
export interface OutputReader {
  read(text: string, stream: 'stdout' | 'stderr', elapsedS: number): void;
  passed(elapsedS: number): TimeLimit | null;
}

const LOOK_MS = 1000;
const FIRST_LOOK_MS = 100;
/** A process that prints this much between two looks is looked at more often. */
const FAST_BYTES = 4 << 20;
const FAST_LOOK_MS = 50;

/**
 * Looks at the logs of a running process once a second: two `fstat` and a read of what is new. That is all this
 * program does while something is timed.
 */
export class OutputWatch {
  private readonly stdout: CappedLog;
  private readonly stderr: CappedLog;
  private readonly reader: OutputReader | null;
  private readonly onLimit: (limit: TimeLimit) => void;
  private readonly start = performance.now();
  private timer: NodeJS.Timeout;

  constructor(
    logs: { readonly stdout: CappedLog; readonly stderr: CappedLog },
    reader: OutputReader | null,
    onLimit: (limit: TimeLimit) => void,
  ) {
    this.stdout = logs.stdout;
    this.stderr = logs.stderr;
    this.reader = reader;
    this.onLimit = onLimit;
    this.timer = setTimeout(() => this.look(), FIRST_LOOK_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private look(): void {
    const elapsedS = (performance.now() - this.start) / 1000;
    const stdout = this.stdout.take();
    const stderr = this.stderr.take();
    this.reader?.read(stdout.text, 'stdout', elapsedS);
    this.reader?.read(stderr.text, 'stderr', elapsedS);
    const limit = this.reader?.passed(elapsedS) ?? null;
    if (limit !== null) this.onLimit(limit);
    const isFast = stdout.newBytes + stderr.newBytes > FAST_BYTES;
    // After a limit the process has some seconds to end itself, and may go on printing.
    this.timer = setTimeout(() => this.look(), isFast ? FAST_LOOK_MS : LOOK_MS);
  }
}
