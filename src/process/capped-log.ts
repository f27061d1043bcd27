import { closeSync, fstatSync, openSync, readSync, renameSync, writeSync } from 'node:fs';

import { omittedLine } from '../text/omitted-output.ts';

/** A longer log keeps the first and the last half of this size. */
const LOG_CAP_BYTES = 64 << 20;
/** A process with a longer log is ended. */
export const LONGEST_LOG_BYTES = 1 << 30;

const COPY_BYTES = 1 << 20;
/** A line at the cut is dropped, unless it is longer than this. */
const LINE_SEARCH_BYTES = 1 << 16;
const READ_BYTES = 1 << 18;

/**
 * A log that a process writes directly to a file. The output survives a kill of bench, and does not pass through bench
 * during timing. It is trimmed after the process has ended.
 */
export class CappedLog {
  readonly fd: number;
  private readonly path: string;
  private readonly capBytes: number;
  private seen = 0;

  constructor(path: string, capBytes = LOG_CAP_BYTES) {
    this.path = path;
    this.capBytes = capBytes;
    // Truncate an existing file instead of appending to it.
    closeSync(openSync(path, 'w'));
    this.fd = openSync(path, 'a+');
  }

  /** Output since the last call, limited to its last 256 KiB, and the total size. */
  take(): { readonly text: string; readonly size: number } {
    const { size } = fstatSync(this.fd);
    const bytes = Math.min(Math.max(0, size - this.seen), READ_BYTES);
    this.seen = size;
    return { text: this.read(size - bytes, size).toString('utf8'), size };
  }

  finish(): void {
    try {
      if (fstatSync(this.fd).size > this.capBytes) this.trim(fstatSync(this.fd).size);
    } finally {
      closeSync(this.fd);
    }
  }

  /** Drops the middle at ends of lines. */
  private trim(size: number): void {
    const half = Math.floor(this.capBytes / 2);
    const searched = Math.min(half, LINE_SEARCH_BYTES);
    const before = this.read(half - searched, half).lastIndexOf('\n');
    const headEnd = before === -1 ? half : half - searched + before + 1;
    const after = this.read(size - half, size - half + searched).indexOf('\n');
    const tailStart = after === -1 ? size - half : size - half + after + 1;
    const target = `${this.path}.whole`;
    const output = openSync(target, 'w');
    try {
      this.copy(output, 0, headEnd);
      writeSync(output, `${before === -1 ? '\n' : ''}${omittedLine(tailStart - headEnd)}\n`);
      this.copy(output, tailStart, size);
    } finally {
      closeSync(output);
    }
    renameSync(target, this.path);
  }

  private copy(to: number, start: number, end: number): void {
    for (let place = start; place < end; place += COPY_BYTES) {
      const bytes = this.read(place, Math.min(end, place + COPY_BYTES));
      // A write may be partial when the disk fills up.
      for (let written = 0; written < bytes.length;) written += writeSync(to, bytes, written);
    }
  }

  private read(start: number, end: number): Buffer {
    const buffer = Buffer.alloc(end - start);
    return buffer.subarray(0, readSync(this.fd, buffer, 0, buffer.length, start));
  }
}
