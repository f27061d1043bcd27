import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';

import { omittedLine } from '../text/omitted-output.ts';

/** So much of a log is kept whole; of a longer one half of it from its beginning and half from its end. */
const LOG_CAP_BYTES = 64 << 20;

const COPY_BYTES = 1 << 20;
/** What is stopped still ends a write that it had begun; something else that writes must not be followed for ever. */
const MAX_COPY_ROUNDS = 3;
/** A line that is cut through is left out as a whole, unless it is longer. */
const LINE_SEARCH_BYTES = 1 << 16;
/** What is shown of new output at once. */
const READ_BYTES = 1 << 18;

/** Stops the process that writes a log, so that nothing is lost that it writes while the log is cut. */
export interface WriterPause {
  stop(): void;
  goOn(): void;
}

/**
 * A log that a process writes by itself, straight into the file: what it printed is there whatever happens to this
 * program, and nothing passes through it while something is timed. A pipe would be lost with its reader, a limit of
 * the file's size (RLIMIT_FSIZE) would kill the process, and node cannot punch holes. So the file is opened for
 * appending, where each write goes to the end wherever that is, and its middle is taken away from time to time: while
 * the process is stopped for a moment, the last bytes are copied to a second file and the log is cut back to its head.
 * In between it grows by what the process writes from one look to the next. Only a finished log is put together; one
 * that is cut off by a SIGKILL belongs to a run that is done again anyway.
 */
export class CappedLog {
  readonly fd: number;
  private readonly path: string;
  private readonly tailPath: string;
  private readonly headBytes: number;
  private readonly tailBytes: number;
  private readonly pause: WriterPause;
  /** Where the head ends once something was left out; null before. */
  private headEnd: number | null = null;
  private tailSize = 0;
  /** Between head and tail, and between tail and what was written while it was copied. */
  private omitted = 0;
  private omittedAfterTail = 0;
  private seen = 0;

  constructor(path: string, pause: WriterPause, capBytes = LOG_CAP_BYTES) {
    this.path = path;
    this.pause = pause;
    this.tailPath = `${path}.tail`;
    this.headBytes = Math.floor(capBytes / 2);
    this.tailBytes = capBytes - this.headBytes;
    // An earlier file must not be appended to.
    closeSync(openSync(path, 'w'));
    this.fd = openSync(path, 'a+');
  }

  /** What was printed since the last call, at most its last 256 KiB; cuts the file when it has grown too long. */
  take(): { readonly text: string; readonly newBytes: number } {
    const { size } = fstatSync(this.fd);
    const newBytes = Math.max(0, size - this.seen);
    const text = newBytes === 0 ? '' : this.textBefore(size, Math.min(newBytes, READ_BYTES));
    this.seen = size;
    this.cutIfLong(size);
    return { text, newBytes };
  }

  /** Puts head and tail together when the process has ended. */
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
    // The tail before was written earlier than all that the file held beyond its head: it is in the middle now.
    this.omitted += this.tailSize + this.omittedAfterTail + (from - this.headEnd);
    this.tailSize = to - from;
    this.omittedAfterTail = fstatSync(this.fd).size - to;
    ftruncateSync(this.fd, this.headEnd);
    this.seen = this.headEnd;
  }

  /**
   * Copies all from a place on, with what is written meanwhile: its last lines may be the summary.
   * @returns the end of what was copied; on a full disk the place itself, as what is cut away makes room
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
      // In a head of one endless line the remark must still begin a line.
      if (this.textBefore(headEnd, 1) !== '\n') writeSync(output, '\n');
      // Of the last bytes those in the file are the newest.
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

  /** The end of the last whole line before a place; the place itself when the line is too long. */
  private lineEndBefore(place: number): number {
    const bytes = Math.min(place, LINE_SEARCH_BYTES);
    const buffer = Buffer.alloc(bytes);
    const read = readSync(this.fd, buffer, 0, bytes, place - bytes);
    const newline = buffer.subarray(0, read).lastIndexOf(NEWLINE);
    return newline === -1 ? place : place - bytes + newline + 1;
  }
}

const NEWLINE = 0x0a;

/** The start of the first whole line from a place on; the place itself when none begins soon. */
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

/** A write may take less than it was given: on a disk that gets full. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(fd, bytes, written);
  }
}
