// One byte of a store after another changes; does `bench db verify` find each that changes an answer?
// node benchmarks/flips.ts [FLIPS] [SEED]; ends with 1 when it misses one. Needs `npm run build` first.
import { seededRandom } from '../src/matrix/plan/order.ts';
import { flipBytes } from './flips/flip-bytes.ts';
import { fullStore } from './flips/full-store.ts';
import { inTemporaryFolder } from './temporary-folder.ts';

const [flips = 1000, seed = 1] = process.argv.slice(2).map(Number);
if (!Number.isInteger(flips) || flips < 1 || !Number.isInteger(seed)) {
  process.stderr.write('usage: node benchmarks/flips.ts [FLIPS] [SEED]\n');
  process.exitCode = 2;
} else {
  const report = await inTemporaryFolder(async (folder) =>
    flipBytes(await fullStore(folder), folder, flips, seededRandom(seed)),
  );
  const { changed, found, foundUnchanged, changedByObject, missed } = report;
  process.stdout.write(
    `${flips} flips, seed ${seed}: ${changed} change an answer, in ${changedByObject.size} tables and indexes; ${found} of them are found, and ${foundUnchanged} others\n`,
  );
  for (const one of missed) process.stdout.write(`  missed: ${one}\n`);
  if (missed.length > 0) process.exitCode = 1;
}
