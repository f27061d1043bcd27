import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

import type { RunSource } from '../../src/artefacts/read/discover.ts';
import { readChunks } from '../../src/files/files.ts';
import type { LogStream } from '../../src/records/outcome.ts';

const PACKED = /\.(?:gz|zst|br)$/;

/**
 * Hands over each line of a file, decompressed, numbered from 1; a last line without a line feed counts.
 * @param maxBytes of the decompressed text
 * @returns false when the file is damaged: what is before the damage was read
 */
export async function readLines(
  path: string,
  onLine: (text: string, line: number) => void,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const decoder = new StringDecoder('utf8');
  let [rest, line, bytes, isWhole] = ['', 0, 0, true];
  const take = (text: string): void => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) onLine(part, (line += 1));
  };
  try {
    for await (const chunk of readChunks(path)) {
      const part = chunk.subarray(0, Math.max(0, maxBytes - bytes));
      bytes += part.length;
      take(decoder.write(part));
      if (bytes >= maxBytes) break;
    }
  } catch {
    isWhole = false;
  }
  take(decoder.end());
  if (rest !== '') onLine(rest, line + 1);
  return isWhole;
}

/** The whole text of a small file; null when it cannot be read to its end. */
export async function readText(path: string): Promise<string | null> {
  const lines: string[] = [];
  return (await readLines(path, (text) => lines.push(text))) ? lines.join('\n') : null;
}

/** The files of one source by their names without the ending of a compression. */
export type SourceFiles = ReadonlyMap<string, string>;

export async function filesOf({ kind, path }: RunSource): Promise<SourceFiles> {
  if (kind !== 'folder') return new Map();
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const packed = names.filter((name) => PACKED.test(name)).toReversed();
  const plain = names.filter((name) => !PACKED.test(name));
  return new Map([...packed, ...plain].map((name) => [name.replace(PACKED, ''), join(path, name)]));
}

export interface LogFile {
  readonly stream: LogStream;
  readonly path: string;
  /** Name under which the program lists it. */
  readonly name: string;
}

export function logsOf({ kind, path }: RunSource, files: SourceFiles): LogFile[] {
  if (kind !== 'folder') return [{ stream: 'stdout', path, name: '' }];
  const named = [...files.keys()].filter((name) => /\.(?:log|txt|out)$/.test(name));
  const others = named.filter((name) => name !== 'stderr.log');
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    // Without `stdout.log`, the only other log is the one.
    const isOther = stream === 'stdout' && !files.has('stdout.log') && others.length === 1;
    const name = (isOther ? others[0] : null) ?? `${stream}.log`;
    const found = files.get(name);
    return found === undefined ? [] : [{ stream, path: found, name }];
  });
}

/** So much of a file is looked at. */
const HEAD_BYTES = 1 << 20;
const UNFINISHED = /\.tmp-\d+$|^\.attempt-/;
const TABLES = /\.(?:json|csv|tsv|xml|md|sqlite|plan|engine|onnx)(?:\.(?:gz|zst|br))?$/;
const SPEAKS =
  /^(?:&&&& RUNNING TensorRT\.trtexec|\[\d\d\/\d\d\/\d{4}-[\d:]{8}\] \[I\] === (?:Model Options|Performance summary) ===)/;

/** Files in which trtexec speaks and that are not among the logs that were read. */
export async function unreadLogs(folder: string, read: ReadonlySet<string>): Promise<string[]> {
  const unread: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (UNFINISHED.test(entry.name)) continue;
    if (entry.isDirectory()) unread.push(...(await unreadLogs(path, read)));
    if (!entry.isFile() || read.has(path) || TABLES.test(entry.name)) continue;
    let speaks = false;
    await readLines(path, (text) => (speaks ||= SPEAKS.test(text)), HEAD_BYTES);
    if (speaks) unread.push(path);
  }
  return unread;
}
