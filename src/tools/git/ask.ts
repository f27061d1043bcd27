import { execFile } from 'node:child_process';

const MAX_OUTPUT_BYTES = 256 << 20;

export type GitAnswer =
  | { readonly kind: 'done'; readonly stdout: string }
  /** The last thing that git said, in one line. */
  | { readonly kind: 'refused'; readonly problem: string };

/** Asks git, and keeps what it says when it refuses. An argument list, never a shell line. */
export function askGit(cwd: string, args: readonly string[]): Promise<GitAnswer> {
  return new Promise((resolve) => {
    execFile('git', args, { cwd, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve({ kind: 'done', stdout });
      else resolve({ kind: 'refused', problem: lastLine(stderr) ?? error.message });
    });
  });
}

function lastLine(text: string): string | null {
  return text.trim().split('\n').at(-1)?.trim() || null;
}
