import { execFile } from 'node:child_process';

import type { ToolAnswer } from '../machine/machine-facts.ts';
import { printable } from '../text/printable.ts';
import { definedVariables, type EnvironmentVariables } from './environment-variables.ts';

const MAX_OUTPUT_BYTES = 64 << 20;
const MAX_PROBLEM = 300;

/** Asks a program one question and waits for the answer, but not for ever. Never throws. */
export function askProgram(
  file: string,
  args: readonly string[],
  env: EnvironmentVariables,
  timeoutMs: number,
): Promise<ToolAnswer> {
  return new Promise((resolve) => {
    const asked = execFile(
      file,
      [...args],
      {
        env: definedVariables(env),
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: MAX_OUTPUT_BYTES,
        windowsHide: true,
      },
      (error, stdout, stderr) => {
        if (error === null) resolve({ kind: 'answered', text: stdout });
        else if (error.code === 'ENOENT') resolve({ kind: 'missing' });
        else if (error.killed === true) resolve({ kind: 'silent', afterS: timeoutMs / 1000 });
        else resolve({ kind: 'refused', problem: lastWords(stdout, stderr) ?? error.message });
      },
    );
    // A program that reads from a terminal would wait for it.
    asked.stdin?.end();
  });
}

function lastWords(stdout: string, stderr: string): string | null {
  const said = stderr.trim() || stdout.trim();
  const line = said.split('\n').at(-1)?.trim() ?? '';
  return line === '' ? null : printable(line).slice(0, MAX_PROBLEM);
}
