import { existsSync } from 'node:fs';
import { homedir, hostname, userInfo } from 'node:os';

import { orNull } from '../errors.ts';
import { jsonText } from '../text/printable.ts';
import { Redaction } from '../text/redact.ts';
import { hostNames } from '../store/sweeps/environments.ts';
import { openStoreToRead } from '../store/file/open.ts';
import type { Io } from './io.ts';
import { migrationsFolder, storePath } from './store-location.ts';

/** Buffers the output of a command until all of it can be redacted. */
export async function redacted<Result>(
  io: Io,
  options: { readonly db?: string },
  start: (io: Io) => Promise<Result>,
): Promise<Result> {
  let held = '';
  try {
    return await start({ ...io, out: (text) => (held += text) });
  } finally {
    if (held !== '') io.out(redactedText(held, redactionFor(io, options, held)));
  }
}

/** @param output all that will be printed */
export function redactionFor(io: Io, options: { readonly db?: string }, output: string): Redaction {
  const { HOME, LOGNAME, SUDO_USER, USER, USERNAME } = io.env;
  const users = [orNull(() => userInfo().username), LOGNAME, SUDO_USER, USER, USERNAME].flatMap((user) => user ?? []);
  const hosts = [hostname(), ...storedHosts(storePath(options.db, io))];
  return new Redaction({ hosts, users, home: HOME || homedir() }, output);
}

/** JSON and lines of JSON keep their form. */
export function redactedText(text: string, redaction: Redaction): string {
  const whole = parsed([text]);
  if (whole !== null) return `${jsonText(redaction.json(whole[0]))}\n`;
  const lines = parsed(text.split('\n').filter((line) => line !== ''));
  if (lines === null) return redaction.text(text);
  return lines.map((line) => `${JSON.stringify(redaction.json(line))}\n`).join('');
}

function parsed(texts: readonly string[]): unknown[] | null {
  const values = orNull(() => texts.map((text): unknown => JSON.parse(text)));
  return values?.every((value) => typeof value === 'object' && value !== null) === true ? values : null;
}

function storedHosts(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  const store = openStoreToRead(path, migrationsFolder());
  try {
    return hostNames(store.db);
  } finally {
    store.close();
  }
}
