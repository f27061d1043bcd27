import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib';

import { secretsIn } from '../text/redact.ts';
import { putInPlace } from '../files/folders.ts';
import { RUN_MANIFEST, isTemporary, temporaryPath } from '../files/layout.ts';
import { folderFiles } from './run-files.ts';
import { RUN_MANIFEST_VERSION, type RunManifest } from './run-manifest.ts';

const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
/** Below this size a stream costs more time than it saves memory. */
const SMALL_BYTES = 1 << 20;

export function manifestText(manifest: RunManifest): string {
  const stated = Object.fromEntries(Object.entries(manifest).filter(([, value]) => !isEmpty(value)));
  return `${JSON.stringify({ ...stated, schemaVersion: RUN_MANIFEST_VERSION }, null, 1)}\n`;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Compresses every file of a finished run in place except `run.json`. Idempotent. */
export async function compressFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && isTemporary(entry.name)) await unlink(join(entry.parentPath, entry.name));
  }
  for (const [name, file] of await folderFiles(folder)) {
    if (name === RUN_MANIFEST || name !== file) continue;
    const path = join(folder, file);
    await putInPlace(`${path}.zst`, (temporary) => compressTo(path, temporary));
    await unlink(path);
  }
}

export async function compressTo(source: string, target: string): Promise<void> {
  const { size } = await stat(source);
  if (size <= SMALL_BYTES) await writeFile(target, zstdCompressSync(await readFile(source), ZSTD));
  else await pipeline(createReadStream(source), createZstdCompress(ZSTD), createWriteStream(target));
}

/** Shorter values occur as ordinary words. */
const LEAST_SECRET = 6;
/** Longer values are not secrets: a certificate may have 8 KiB. */
const MOST_SECRET = 1 << 16;
/** Settings of switches, which occur in any log and are not secrets. */
const WORDS = /^(?:default|disabled|enabled|optional|required|tensorrt|trtexec)$/i;
const CHUNK_BYTES = 1 << 18;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Removes values of secret-looking environment variables from the files in a folder, recursively: a harness or a script
 * around trtexec may print its environment.
 * @param isScrubbed false for file names that cannot contain secrets
 */
export async function scrubFolder(folder: string, env: Variables, isScrubbed = (_name: string) => true): Promise<void> {
  const secrets = secretsOf(env);
  if (secrets.length === 0) return;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !isScrubbed(basename(entry.name))) continue;
    await scrubFile(join(entry.parentPath, entry.name), secrets);
  }
}

export function scrubText(text: string, env: Variables): string {
  const secrets = secretsOf(env);
  return secrets.length === 0 ? text : text.replace(patternOf(secrets), '***');
}

/** Longest first: one may be part of another. */
function secretsOf(env: Variables): string[] {
  const found = Object.entries(env)
    .flatMap(([name, value = '']) => secretsIn(name, value))
    .filter((text) => text.length >= LEAST_SECRET && text.length <= MOST_SECRET && !WORDS.test(text));
  return [...new Set(found)].toSorted((a, b) => b.length - a.length);
}

async function scrubFile(path: string, secrets: readonly string[]): Promise<void> {
  // latin1: one character per byte keeps binary content unchanged.
  const bytes = secrets.map((secret) => Buffer.from(secret).toString('latin1'));
  let isFound = false;
  for await (const part of parts(path, bytes)) isFound ||= part.isFound;
  if (!isFound) return;
  const temporary = temporaryPath(path);
  await pipeline(async function* scrubbed() {
    for await (const { text } of parts(path, bytes)) yield Buffer.from(text, 'latin1');
  }, createWriteStream(temporary));
  await rename(temporary, path);
}

function patternOf(secrets: readonly string[]): RegExp {
  return new RegExp(secrets.map((secret) => secret.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|'), 'g');
}

/** The content of a file without the secrets, in pieces, and whether each piece had one. */
async function* parts(path: string, secrets: readonly string[]): AsyncGenerator<{ text: string; isFound: boolean }> {
  const pattern = patternOf(secrets);
  let rest = '';
  const stream: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  for await (const chunk of stream) {
    const text = rest + chunk.toString('latin1');
    // A secret that begins after this place may continue in the next chunk.
    const end = text.length - (secrets[0]?.length ?? 0);
    let [scrubbed, taken] = ['', 0];
    for (const { 0: secret, index } of text.matchAll(pattern)) {
      if (index > end) break;
      scrubbed += `${text.slice(taken, index)}***`;
      taken = index + secret.length;
    }
    rest = text.slice(Math.max(taken, end));
    yield { text: scrubbed + text.slice(taken, Math.max(taken, end)), isFound: taken > 0 };
  }
  const last = rest.replace(pattern, '***');
  yield { text: last, isFound: last !== rest };
}
