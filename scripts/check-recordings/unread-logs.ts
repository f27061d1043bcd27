import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { readLines } from './text-lines.ts';

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
    else if (entry.isFile() && !read.has(path) && !TABLES.test(entry.name)) {
      if (await speaks(path)) unread.push(path);
    }
  }
  return unread;
}

async function speaks(path: string): Promise<boolean> {
  let found = false;
  await readLines(path, (text) => (found ||= SPEAKS.test(text)), HEAD_BYTES);
  return found;
}
