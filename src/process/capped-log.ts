import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';

import { omittedLine } from '../text/omitted-output.ts';

/** A longer log keeps the first and the last half of this. */
const LOG_CAP_BYTES = 64 << 20;

const COPY_BYTES = 1 << 20;
/** A stopped process still completes a write in progress; another writer must not be followed forever. */
const MAX_COPY_ROUNDS = 3;
/** A line cut by the boundary is dropped, unless it is longer than this. */
const LINE_SEARCH_BYTES = 1 << 16;
const READ_BYTES = 1 << 18;

/** Stops the process that writes a log, so that nothing is lost while the log is cut. */
export interface WriterPause {
  stop(): void;
  goOn(): void;
}

/**
 * A log that a process writes directly to the file: its output survives whatever happens to bench, and does not pass
 * through bench while something is timed. (A pipe is lost with its reader, RLIMIT_FSIZE kills the process, and node
 * cannot punch holes.) The file is opened for appending; from time to time its middle is removed: with the process
 * briefly stopped, the last bytes are copied to a second file and the log is truncated to its head. Between two looks
 * it grows by what the process writes. Only a finished log is put together; one cut off by a SIGKILL belongs to a run
 * that is repeated anyway.
 */
export class CappedLog {
  readonly fd: number;
  private readonly path: string;
  private readonly tailPath: string;
  private readonly headBytes: number;
  private readonly tailBytes: number;
  private readonly pause: WriterPause;
  /** End of the head once something was omitted; null before. */
  private headEnd: number | null = null;
  private tailSize = 0;
  /** Bytes omitted between head and tail, and between the tail and what was written while it was copied. */
  private omitted = 0;
  private omittedAfterTail = 0;
  private seen = 0;

  constructor(path: string, pause: WriterPause, capBytes = LOG_CAP_BYTES) {
    this.path = path;
    this.pause = pause;
    this.tailPath = `${path}.tail`;
    this.headBytes = Math.floor(capBytes / 2);
    this.tailBytes = capBytes - this.headBytes;
    // Truncate an existing file instead of appending to it.
    closeSync(openSync(path, 'w'));
    this.fd = openSync(path, 'a+');
  }

  /** Output since the last call, at most its last 256 KiB; truncates a log that has grown too long. */
  take(): { readonly text: string; readonly newBytes: number } {
    const { size } = fstatSync(this.fd);
    const newBytes = Math.max(0, size - this.seen);
    const text = newBytes === 0 ? '' : this.textBefore(size, Math.min(newBytes, READ_BYTES));
    this.seen = size;
    this.cutIfLong(size);
    return { text, newBytes };
  }

  finish(): void {
    try {
      this.cutIfLong(fstatSync(this.fd).size);
      if (this.headEnd !== null) this.assemble(this.headEnd);
    } finally {
      closeSync(this.fd);
    }
  }

  private textBefore(end: number, bytes: number): string {
    const buffer = Buffer.alloc(bytes);
    const read = readSync(this.fd, buffer, 0, bytes, end - bytes);
    return buffer.toString('utf8', 0, read);
  }

  private cutIfLong(size: number): void {
    if (size <= this.headBytes + 2 * this.tailBytes) return;
    this.pause.stop();
    try {
      this.cut(size);
    } finally {
      this.pause.goOn();
    }
  }

  private cut(size: number): void {
    this.headEnd ??= this.lineEndBefore(this.headBytes);
    const from = size - this.tailBytes;
    const to = this.copyTail(from);
    // The old tail is older than everything the file has after its head: it is now in the middle.
    this.omitted += this.tailSize + this.omittedAfterTail + (from - this.headEnd);
    this.tailSize = to - from;
    this.omittedAfterTail = fstatSync(this.fd).size - to;
    ftruncateSync(this.fd, this.headEnd);
    this.seen = this.headEnd;
  }

  /**
   * Copies everything from an offset, including what is written meanwhile, as its last lines may be the summary.
   * @returns the end of the copied part; on a full disk the offset itself, as truncation makes room
   */
  private copyTail(from: number): number {
    try {
      const tail = openSync(this.tailPath, 'w');
      try {
        let end = from;
        for (let round = 0; round < MAX_COPY_ROUNDS; round += 1) {
          const { size } = fstatSync(this.fd);
          if (size === end) break;
          copyBytes(this.fd, tail, end, size);
          end = size;
        }
        return end;
      } finally {
        closeSync(tail);
      }
    } catch {
      rmSync(this.tailPath, { force: true });
      return from;
    }
  }

  private assemble(headEnd: number): void {
    const { size } = fstatSync(this.fd);
    const target = `${this.path}.whole`;
    const output = openSync(target, 'w');
    try {
      copyBytes(this.fd, output, 0, headEnd);
      // The omission note must begin a line even if the head is one endless line.
      if (this.textBefore(headEnd, 1) !== '\n') writeSync(output, '\n');
      // The newest of the last bytes are those in the file.
      const restFrom = Math.max(headEnd, size - this.tailBytes);
      const fromTail = Math.min(this.tailSize, this.tailBytes - (size - restFrom));
      if (fromTail > 0) {
        const tail = openSync(this.tailPath, 'r');
        const start = nextLine(tail, this.tailSize - fromTail, this.tailSize);
        writeSync(output, `${omittedLine(this.omitted + start)}\n`);
        copyBytes(tail, output, start, this.tailSize);
        closeSync(tail);
        if (this.omittedAfterTail > 0) {
          writeSync(output, `\n${omittedLine(this.omittedAfterTail)}\n`);
        }
        copyBytes(this.fd, output, headEnd, size);
      } else {
        const start = nextLine(this.fd, restFrom, size);
        const lost = this.omitted + this.tailSize + this.omittedAfterTail + (start - headEnd);
        writeSync(output, `${omittedLine(lost)}\n`);
        copyBytes(this.fd, output, start, size);
      }
    } finally {
      closeSync(output);
    }
    renameSync(target, this.path);
    rmSync(this.tailPath, { force: true });
  }

  /** End of the last whole line before an offset; the offset itself if the line is too long. */
  private lineEndBefore(place: number): number {
    const bytes = Math.min(place, LINE_SEARCH_BYTES);
    const buffer = Buffer.alloc(bytes);
    const read = readSync(this.fd, buffer, 0, bytes, place - bytes);
    const newline = buffer.subarray(0, read).lastIndexOf(NEWLINE);
    return newline === -1 ? place : place - bytes + newline + 1;
  }
}

const NEWLINE = 0x0a;

/** Start of the first whole line at or after an offset; the offset itself if none begins soon. */
function nextLine(fd: number, place: number, end: number): number {
  const buffer = Buffer.alloc(Math.min(LINE_SEARCH_BYTES, end - place));
  const read = readSync(fd, buffer, 0, buffer.length, place);
  const newline = buffer.subarray(0, read).indexOf(NEWLINE);
  return newline === -1 ? place : place + newline + 1;
}

function copyBytes(from: number, to: number, start: number, end: number): void {
  const buffer = Buffer.alloc(Math.min(COPY_BYTES, Math.max(0, end - start)));
  for (let place = start; place < end;) {
    const read = readSync(from, buffer, 0, Math.min(buffer.length, end - place), place);
    if (read === 0) return;
    writeAll(to, buffer.subarray(0, read));
    place += read;
  }
}

/** A write may be partial when the disk fills up. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(fd, bytes, written);
  }
}
