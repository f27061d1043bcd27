import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import process from 'node:process';

/**
 * The temporary folder of all tests, which is there as long as they run: in memory, where that is large and programs start
 * from it, because tests make, sync and remove so many files that a disk costs a sixth of their CPU. Lines with its name
 * are wrapped, so it is short.
 */
export default function setUp(): () => void {
  const { bavail, bsize } = statfsSync('/dev/shm');
  const isLarge = bavail * bsize > 4 * 2 ** 30;
  const isOpen = /^\S+ \/dev\/shm tmpfs (?!\S*noexec)/m.test(readFileSync('/proc/mounts', 'utf8'));
  const parent = process.env['TMPDIR'] || (isLarge && isOpen ? '/dev/shm' : tmpdir());
  const folder = mkdtempSync(`${parent}/`);
  // As /tmp: some tests are another user.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
