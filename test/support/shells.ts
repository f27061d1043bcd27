import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

import { finished } from './bench.ts';

/** A program on PATH; null where it is not installed. */
export function onPath(name: string): string | null {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  return places.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What a skipped test needs. */
export function needs(...programs: readonly string[]): string {
  return `needs ${programs.join(' and ')}: apt-get install ${programs.map((name) => (name === 'script' ? 'bsdutils' : name)).join(' ')}`;
}

/** The last line before a shell waits for keys. */
export const PROMPT = 'ready> ';

/** The `script` of other systems takes other options. */
export const HAS_TERMINALS = process.platform === 'linux' && onPath('script') !== null;

/** Starts a program on a terminal, and types when it shows that it is ready. */
export async function typeInto(
  program: readonly string[],
  keys: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>> = {},
  prompt: string = PROMPT,
): Promise<{ readonly code: number | null; readonly shown: string }> {
  // On a busy machine `script` drops what a program printed just before its end, unless something outlives it.
  const command = `${program.join(' ')}; code=$?; sleep 0.5; exit $code`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'xterm', BENCH_DB: undefined, ...env },
  });
  let shown = '';
  let isTyped = false;
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (isTyped || !shown.includes(prompt)) return;
    isTyped = true;
    child.stdin.write(keys);
  });
  const { code } = await finished(child);
  return { code, shown };
}
