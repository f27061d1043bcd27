// SIGKILL at random moments of sweeps that are resumed each time: node benchmarks/kills.ts [KILLS] [SEED]
// Needs `npm run build` first. Ends with 1 when anything is not as without kills.
import { seededRandom } from '../src/plan/order.ts';
import { killSweeps } from './kills/kill-sweeps.ts';
import { inTemporaryFolder } from './temporary-folder.ts';

const [kills = 200, seed = 1] = process.argv.slice(2).map(Number);
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) {
  process.stderr.write('usage: node benchmarks/kills.ts [KILLS] [SEED]\n');
  process.exitCode = 2;
} else {
  const report = await inTemporaryFolder((folder) => killSweeps(folder, kills, seededRandom(seed)));
  const stored = report.storedAtKill.toSorted((a, b) => a - b);
  const spread = [0, 0.25, 0.5, 0.75, 1].map(
    (share) => stored[Math.floor(share * (stored.length - 1))],
  );
  process.stdout.write(
    `${report.kills} kills over ${report.sweeps} sweeps, seed ${seed}; runs stored when they came: ${spread.join(', ')} (quartiles)\n`,
  );
  for (const problem of report.problems) process.stdout.write(`  ${problem}\n`);
  process.stdout.write(report.problems.length === 0 ? 'nothing lost, nothing twice\n' : '');
  if (report.problems.length > 0) process.exitCode = 1;
}
