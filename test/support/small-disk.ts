import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

/**
 * A disk of its own (in memory), gone when the test is over. Only root may have one.
 * @param inodes how many files and folders it takes
 */
export function smallDisk(
  mebibytes: number,
  inodes: number | null = null,
): { readonly path: string; resize(to: number): void } {
  const path = mkdtempSync(join(tmpdir(), 'bench-disk-'));
  mount(path, `size=${mebibytes}m${inodes === null ? '' : `,nr_inodes=${inodes}`}`);
  onTestFinished(() => unmount(path));
  return { path, resize: (to) => mount(path, `remount,size=${to}m,nr_inodes=0`) };
}

/** Null when disks can be made here; else why not. */
export function noDiskBecause(): string | null {
  const path = mkdtempSync(join(tmpdir(), 'bench-disk-'));
  try {
    mount(path, 'size=1m');
    unmount(path);
    return null;
  } catch (error) {
    rmSync(path, { recursive: true });
    return error instanceof Error ? (error.message.split('\n')[1] ?? error.message) : String(error);
  }
}

function mount(path: string, options: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'pipe' });
}

function unmount(path: string): void {
  execFileSync('umount', ['--lazy', path], { stdio: 'pipe' });
  rmSync(path, { recursive: true });
}
