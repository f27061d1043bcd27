import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { secretsIn } from '../text/secret-name.ts';
import { temporaryPath } from './layout.ts';

/** Shorter values occur as ordinary words. */
const LEAST_SECRET = 6;
/** Longer values are not secrets: a certificate has 8 KiB. */
const MOST_SECRET = 1 << 16;
/** What a switch is set to is in any log, and is no secret. */
const WORDS = /^(?:default|disabled|enabled|optional|required|tensorrt|trtexec)$/i;
const CHUNK_BYTES = 1 << 18;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Removes values of secret-looking environment variables from the files in a folder, recursively: a harness or a script
 * around trtexec may print its environment.
 * @param isScrubbed false for file names that cannot contain secrets
 */
export async function scrubFolder(
  folder: string,
  env: Variables,
  isScrubbed: (name: string) => boolean = () => true,
): Promise<void> {
  const secrets = secretsOf(env);
  if (secrets.length === 0) return;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !isScrubbed(basename(entry.name))) continue;
    await scrubFile(join(entry.parentPath, entry.name), secrets);
  }
}

export function scrubText(text: string, env: Variables): string {
  return without(text, secretsOf(env));
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
  if (!(await holdsAny(path, bytes))) return;
  const temporary = temporaryPath(path);
  await pipeline(pieces(path, bytes), scrubbed(bytes), createWriteStream(temporary));
  await rename(temporary, path);
}

async function holdsAny(path: string, secrets: readonly string[]): Promise<boolean> {
  for await (const { text } of windows(path, secrets)) {
    if (secrets.some((secret) => text.includes(secret))) return true;
  }
  return false;
}

function scrubbed(secrets: readonly string[]) {
  return async function* scrub(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
    for await (const text of texts) yield Buffer.from(without(text, secrets), 'latin1');
  };
}

function without(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

async function* pieces(path: string, secrets: readonly string[]): AsyncGenerator<string> {
  for await (const { text, isLast, take } of windows(path, secrets)) {
    if (isLast) {
      yield text;
      return;
    }
    const longest = secrets[0]?.length ?? 0;
    let end = Math.max(0, text.length - longest);
    // Move the boundary behind a secret that crosses it.
    for (let moved = true; moved;) {
      moved = false;
      for (const secret of secrets) {
        const at = text.indexOf(secret, Math.max(0, end - secret.length + 1));
        if (at !== -1 && at < end && at + secret.length > end) {
          end = at + secret.length;
          moved = true;
        }
      }
    }
    yield text.slice(0, end);
    take(end);
  }
}

interface Window {
  readonly text: string;
  readonly isLast: boolean;
  /** Marks this much of the text as processed; the next window starts after it. */
  readonly take: (length: number) => void;
}

/** Unless more is taken, windows overlap by the length of the longest secret. */
async function* windows(path: string, secrets: readonly string[]): AsyncGenerator<Window> {
  const longest = secrets[0]?.length ?? 0;
  let rest = '';
  const stream: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  for await (const chunk of stream) {
    const text = rest + chunk.toString('latin1');
    let taken = Math.max(0, text.length - longest);
    yield { text, isLast: false, take: (length) => (taken = length) };
    rest = text.slice(taken);
  }
  yield { text: rest, isLast: true, take: () => {} };
}
