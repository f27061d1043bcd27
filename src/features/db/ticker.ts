import type { Io } from '../../cli/io.ts';

/** Work shorter than this shows no progress. */
const SILENT_MS = 1000;
const LIVE_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;

/** Progress of long work on standard error: one redrawn line on a terminal, occasional lines elsewhere. */
export class Ticker {
  private readonly io: Io;
  private nextMs: number;
  private isDrawn = false;

  constructor(io: Io) {
    this.io = io;
    this.nextMs = io.now().getTime() + (io.isInteractive ? SILENT_MS : LINE_EVERY_MS);
  }

  report(text: string): void {
    const nowMs = this.io.now().getTime();
    if (nowMs < this.nextMs) return;
    this.nextMs = nowMs + (this.io.isInteractive ? LIVE_EVERY_MS : LINE_EVERY_MS);
    this.io.err(this.io.isInteractive ? `\r\u001b[K${text}` : `${text}\n`);
    this.isDrawn = this.io.isInteractive;
  }

  end(): void {
    if (this.isDrawn) this.io.err('\r\u001b[K');
    this.isDrawn = false;
  }
}
