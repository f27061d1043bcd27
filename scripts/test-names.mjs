// Prints the name of every test, with the groups that it is in, sorted and without its file:
//
//     node scripts/test-names.mjs > names.txt
//
// Two such lists show which tests were added, lost or renamed while files moved. Plain JavaScript: it must run in old checkouts.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'test-names-'));
try {
  const file = join(folder, 'list.json');
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  // Not parsed statically: only the collected names of `test.each` are whole.
  const args = [vitest, 'list', `--json=${file}`, '--no-static-parse', ...process.argv.slice(2)];
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  const names = JSON.parse(readFileSync(file, 'utf8')).map(({ name }) => JSON.stringify(name).slice(1, -1));
  process.stdout.write(`${names.toSorted().join('\n')}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
