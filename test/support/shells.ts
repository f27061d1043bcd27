import { spawn } from 'node:child_process';

import { finished } from './bench.ts';
import { onPath } from './on-path.ts';

/** What a skipped test needs. */
export const needs = (...programs: readonly string[]): string =>
  `needs ${programs.join(' and ')}: apt-get install ${programs.map((name) => (name === 'script' ? 'bsdutils' : name)).join(' ')}`;

/** The last line before a shell waits for keys. */
export const PROMPT = 'ready> ';

/** What the terminal shows when its program has ended. */
const OVER = 'program is over> ';

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
  // `script` may drop what a program printed just before its end: this one ends when all of it was read.
  const command = `trap : INT; ${program.join(' ')}; code=$?; printf '${OVER}'; read -r _; exit $code`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    // Names of all kinds are typed: a shell in the C locale takes bytes for characters.
    env: { ...process.env, TERM: 'xterm', LC_ALL: 'C.UTF-8', BENCH_DB: undefined, ...env },
  });
  let shown = '';
  let isTyped = false;
  let isOver = false;
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (!isTyped && shown.includes(prompt)) {
      isTyped = true;
      child.stdin.write(keys);
    }
    if (!isOver && shown.includes(OVER)) {
      isOver = true;
      child.stdin.write('\n');
    }
  });
  return { code: (await finished(child)).code, shown };
}
