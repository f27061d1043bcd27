/**
 * How often the gate is wrong, and how soon it is right, before a series has the sweeps of a history: sweeps 2 to 19 of
 * made-up matrices, 3 runs a cell, sweeps that differ by .2 %, GPU time, throughput and p99 gated:
 * `node benchmarks/few-sweeps.ts [MATRICES] [SEED]`, 200 of each line by default.
 */
import { falseRate, foundAtOnce } from './gate/simulate-few-sweeps.ts';

const [matrices = 200, seed = 1] = process.argv.slice(2).map(Number);

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

for (const isPaired of [true, false]) {
  const how = isPaired ? 'with pairs' : 'without pairs';
  for (const cells of [2, 8, 40]) {
    const rate = falseRate(cells, isPaired, matrices, seed);
    process.stdout.write(`${how}, ${cells} cells, no change: an alarm in ${percent(rate)} of sweeps\n`);
  }
  for (const sweep of [3, 5, 10]) {
    const share = foundAtOnce(sweep, isPaired, matrices, seed);
    process.stdout.write(`${how}, 40 cells, 3 % in one at sweep ${sweep}: reported at once in ${percent(share)}\n`);
  }
}
