// Signals at random moments of sweeps that are resumed each time: node benchmarks/kills.ts [KILLS OF EACH KIND] [SEED]
// Needs `npm run build` first. Ends with 1 when anything is not as without signals.
import { seededRandom } from '../src/matrix/plan/order.ts';
import { KILL_KINDS } from './kills/kill-kinds.ts';
import { type KillReport, killSweeps, wholeSweep } from './kills/kill-sweeps.ts';
import { inTemporaryFolder } from './timing.ts';

const [kills = 200, seed = 1] = process.argv.slice(2).map(Number);
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) {
  process.stderr.write('usage: node benchmarks/kills.ts [KILLS OF EACH KIND] [SEED]\n');
  process.exitCode = 2;
} else {
  const whole = await inTemporaryFolder(wholeSweep);
  for (const kind of KILL_KINDS) {
    const report = await inTemporaryFolder((folder) => killSweeps(folder, whole, kind, kills, seededRandom(seed)));
    process.stdout.write(`${kind.name}: ${lineOf(report)}\n`);
    for (const problem of report.problems) process.stdout.write(`  ${problem}\n`);
    if (report.problems.length > 0) process.exitCode = 1;
  }
}

function lineOf({ kills: sent, problems, storedAtKill, sweeps, withChild }: KillReport): string {
  const stored = storedAtKill.toSorted((a, b) => a - b);
  const spread = [0, 0.25, 0.5, 0.75, 1].map((share) => stored[Math.floor(share * (stored.length - 1))]);
  const verdict = problems.length === 0 ? 'nothing lost, nothing twice' : 'NOT AS WITHOUT SIGNALS';
  return `${sent} over ${sweeps} sweeps, ${withChild} while trtexec ran, runs stored when they came ${spread.join(', ')} (quartiles): ${verdict}`;
}
