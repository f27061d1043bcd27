import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import process from 'node:process';

/**
 * The temporary folder of all tests, which is there as long as they run: in memory where it can be, because they make,
 * sync and remove so many files that a disk costs a sixth of their CPU. Its name is short, and equally long in both
 * places, because lines with it are wrapped.
 */
export default function setUp(): () => void {
  const isOpen =
    existsSync('/dev/shm') && /^\S+ \/dev\/shm tmpfs (?!\S*noexec)/m.test(readFileSync('/proc/mounts', 'utf8'));
  // A million pages of 4 KiB.
  const isFast = !process.env['TMPDIR'] && isOpen && statfsSync('/dev/shm').bavail > 1e6;
  const folder = mkdtempSync(isFast ? '/dev/shm/' : `${tmpdir()}/test`);
  // As /tmp: some tests are another user.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
