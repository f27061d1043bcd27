import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isSecretName } from '../domain/secret-name.ts';

/** Shorter values are words that stand anywhere. */
const LEAST_SECRET = 6;

/**
 * Takes the values of variables that look like secrets out of what a program left in a folder and below it: a harness
 * may print its whole environment, and what it printed is kept.
 */
export async function scrubFolder(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const secrets = Object.entries(env).flatMap(([name, value = '']) =>
    isSecretName(name) && value.length >= LEAST_SECRET ? [Buffer.from(value)] : [],
  );
  if (secrets.length === 0) return;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    const found = secrets.filter((secret) => bytes.includes(secret));
    if (found.length > 0) await writeFile(path, without(bytes, found));
  }
}

function without(bytes: Buffer, secrets: readonly Buffer[]): Buffer {
  // One character a byte: whatever else is in the file stays as it is.
  let text = bytes.toString('latin1');
  for (const secret of secrets) text = text.replaceAll(secret.toString('latin1'), '***');
  return Buffer.from(text, 'latin1');
}
