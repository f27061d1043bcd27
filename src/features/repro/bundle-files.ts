import { extname } from 'node:path';

import { RUN_MANIFEST } from '../../artefacts/layout.ts';
import { RunFiles } from '../../artefacts/run-files.ts';
import { errorText } from '../../errors.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';

export interface BundleFile {
  readonly name: string;
  /** Redacted and compressed where it is text. */
  readonly content: string | Buffer;
}

interface LeftOut {
  readonly name: string;
  readonly why: string;
}

const TEXT_FILES = new Set(['.csv', '.json', '.jsonl', '.log', '.tsv', '.txt', '.xml', '.yaml', '.yml']);
const FIRST = [RUN_MANIFEST, 'stdout.log', 'stderr.log', 'layers.json', 'profile.json'];
const MAX_FILE_BYTES = 4 << 20;
/** Of a longer log: its options are at the start, what went wrong at the end. */
const HEAD_BYTES = 1 << 20;
const PLAIN_NAME = /^\w[\w.-]{0,99}$/;

/** What goes into a bundle, in the order of importance: what no longer fits is left out, and said. */
export class BundleFiles {
  readonly files: BundleFile[] = [];
  readonly leftOut: LeftOut[] = [];
  readonly #maxMib: number;
  #room: number;

  constructor(maxMib: number) {
    this.#maxMib = maxMib;
    this.#room = maxMib * 2 ** 20;
  }

  add(name: string, content: string | Buffer): void {
    const bytes = Buffer.byteLength(content);
    if (bytes > this.#room) {
      const why = `${formatBytes(bytes)}, and the bundle takes ${this.#maxMib} MiB in all: --max-mib takes more`;
      this.leaveOut(name, why);
      return;
    }
    this.#room -= bytes;
    this.files.push({ name, content });
  }

  leaveOut(name: string, why: string): void {
    this.leftOut.push({ name: printable(name), why: printable(why) });
  }

  /** The logs, manifest and exports in the folder of a run. @param to their folder in the bundle */
  async addRun(to: string, folder: string, signal: AbortSignal): Promise<void> {
    const run = await RunFiles.of(folder, signal).catch(() => null);
    if (run === null || run.names.length === 0) {
      this.leaveOut(`${to}/`, 'the files of this run are not kept any more');
      return;
    }
    for (const name of run.names.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))) {
      await this.#addFile(run, name, `${to}/${name}`);
    }
  }

  async #addFile(run: RunFiles, name: string, as: string): Promise<void> {
    if (!PLAIN_NAME.test(name)) return this.leaveOut(as, 'its name is not plain');
    if (!TEXT_FILES.has(extname(name))) return this.leaveOut(as, 'only text can be redacted');
    try {
      const bytes = await run.whole(name);
      if (bytes.length <= MAX_FILE_BYTES) return this.add(as, bytes.toString());
      const size = `${formatBytes(bytes.length)}, and a file takes ${formatBytes(MAX_FILE_BYTES)}`;
      if (extname(name) !== '.log') return this.leaveOut(as, size);
      const start = bytes.subarray(0, HEAD_BYTES);
      const end = bytes.subarray(bytes.length - (MAX_FILE_BYTES - HEAD_BYTES));
      this.leaveOut(as, `${size}: its middle is not there`);
      this.add(as, `${start}\n[${formatBytes(bytes.length - MAX_FILE_BYTES)} are left out here]\n${end}`);
    } catch (error) {
      this.leaveOut(as, `cannot be read: ${errorText(error)}`);
    }
  }
}

function rank(name: string): number {
  return FIRST.indexOf(name) + 1 || FIRST.length + 1;
}
