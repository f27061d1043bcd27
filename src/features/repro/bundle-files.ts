import { RUN_MANIFEST } from '../../artefacts/layout.ts';
import { RunFiles } from '../../artefacts/run-files.ts';
import { parseRunManifest } from '../../artefacts/run-manifest.ts';
import { errorText } from '../../errors.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { ownLines } from '../../trtexec/log/own-lines.ts';
import type { RelativePaths } from '../../text/relative-paths.ts';

export interface BundleFile {
  readonly name: string;
  /** Compressed where it is text. */
  readonly content: string | Buffer;
}

interface LeftOut {
  readonly name: string;
  readonly why: string;
}

const LOGS = ['stdout.log', 'stderr.log'] as const;
/** Written by trtexec, or by bench: names and numbers of layers and queries. */
const EXPORTS = ['layers.json', 'profile.json', 'times.json', 'telemetry.csv'];
const MAX_FILE_BYTES = 4 << 20;
/** Of a longer log: its options are at the start, what went wrong at the end. */
const HEAD_BYTES = 1 << 20;
/** What a manifest says of the process, without text that somebody wrote. */
const RUN_FACTS =
  'schemaVersion role repeat requested limits buildId engineKey engineSha256 engineBytes timingCacheSha256 argv marks provenance exitCode signal timedOut attempt cancelled startedAt wallS'.split(
    ' ',
  );

/** What goes into a bundle, in the order of importance: what is not known, or no longer fits, is left out, and said. */
export class BundleFiles {
  readonly files: BundleFile[] = [];
  readonly leftOut: LeftOut[] = [];
  readonly #maxMib: number;
  readonly #paths: RelativePaths;
  #room: number;

  constructor(maxMib: number, paths: RelativePaths) {
    this.#paths = paths;
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
    const taken = [RUN_MANIFEST, ...LOGS, ...EXPORTS];
    for (const name of taken.filter((each) => run.has(each))) await this.#addFile(run, name, `${to}/${name}`);
    for (const name of run.names.filter((each) => !taken.includes(each)).toSorted()) {
      this.leaveOut(`${to}/${name}`, 'none of the files that a bundle takes');
    }
  }

  async #addFile(run: RunFiles, name: string, as: string): Promise<void> {
    try {
      const stream = name === 'stderr.log' ? 'stderr' : 'stdout';
      if (EXPORTS.includes(name)) this.#addWhole(as, await run.whole(name));
      else if (name === RUN_MANIFEST) this.#addFacts(as, String(await run.whole(name)));
      else this.#addLog(as, await ownLines(run.chunks(name), stream));
    } catch (error) {
      this.leaveOut(as, `cannot be read: ${errorText(error)}`);
    }
  }

  #addWhole(as: string, bytes: Buffer): void {
    if (bytes.length <= MAX_FILE_BYTES) this.add(as, String(bytes));
    else this.leaveOut(as, `${formatBytes(bytes.length)}, and a file takes ${formatBytes(MAX_FILE_BYTES)}`);
  }

  #addFacts(as: string, text: string): void {
    const reading = parseRunManifest(text);
    if (reading.kind === 'faulty') return this.leaveOut(as, reading.problem);
    const facts = Object.entries(reading.manifest).filter(([name]) => RUN_FACTS.includes(name));
    this.add(as, `${jsonText(this.#paths.copy(Object.fromEntries(facts)))}\n`);
  }

  #addLog(as: string, { others, texts }: Awaited<ReturnType<typeof ownLines>>): void {
    if (others > 0) this.leaveOut(as, `${count(others, 'line')} that trtexec's logger did not write, or verbose`);
    const text = this.#paths.text(texts.map((line) => `${line}\n`).join(''));
    const excess = text.length - MAX_FILE_BYTES;
    if (excess <= 0) return text === '' ? undefined : this.add(as, text);
    this.leaveOut(as, `${formatBytes(excess)} in its middle, as a file takes ${formatBytes(MAX_FILE_BYTES)}`);
    this.add(as, `${text.slice(0, HEAD_BYTES)}\n[…]\n${text.slice(HEAD_BYTES + excess)}`);
  }
}
