/**
 * Are the verdicts of `bench compare` what their words say? A simulation from a seed, with normal noise:
 * `node benchmarks/verdicts.ts [TRIALS] [SEED]`, 2,000 trials of each line of the power table by default (minutes).
 */
import { power, settledByRuns, sharedChange, unchangedNights, verdictsOn } from './verdicts/simulate.ts';

const [trials = 2000, seed = 1] = process.argv.slice(2).map(Number);
const matrices = Math.max(1, Math.ceil(trials / 8));

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function rounded(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(1);
}

print('a change in a share of 40 cells: changed called, others called, matrices alarmed, %');
for (const change of [1, 3, -3]) {
  for (const share of [0.2, 0.4, 0.5, 0.55, 0.6, 0.7, 0.75, 0.9, 1]) {
    const found = sharedChange(change, share, matrices, seed);
    const shown = [found.changedCalled, found.othersCalled, found.alarmed].map(rounded);
    print(`  ${change} % in ${100 * share} %: ${shown.join(', ')}`);
  }
}

print('a change in half of the cells: called, of those called without the error of nights, %');
for (const [cells, sigma, count, change] of [
  [40, 0.005, 3, 1.5],
  [40, 0.01, 10, 2],
  [40, 0.01, 5, -2],
  [40, 0.01, 3, 3],
  [40, 0.003, 3, 1],
  [20, 0.003, 3, 1],
] as const) {
  const half = sharedChange(change, 0.5, matrices, seed, { cells, sigma, count });
  const shown = [half.changedCalled, half.kept].map(rounded).join(', ');
  print(`  ${cells} cells, runs ${100 * sigma} %, ${count} runs, ${change} %: ${shown}`);
}

for (const [cells, hasHistory] of [
  [40, false],
  [40, true],
  [12, true],
] as const) {
  print(
    `two nights without a change, ${cells} cells, ${hasHistory ? '24 nights known' : 'no history'}: false per 1000, matrices alarmed %, coverage %, of cells over 1 %`,
  );
  for (const sigma of [0.001, 0.003, null]) {
    for (const night of [0, 0.001, 0.002, 0.003, 0.006]) {
      for (const count of [3, 5, 10]) {
        const found = unchangedNights(sigma, night, count, matrices, seed, hasHistory, cells);
        const { falsePer1000, alarmed, coverage, noisyCoverage } = found;
        const shown = [falsePer1000, alarmed, coverage, noisyCoverage].map(rounded);
        const noise = sigma === null ? 'mixed .1 to 2 %' : `${100 * sigma} %`;
        print(`  runs ${noise}, nights ${100 * night} %, ${count} runs: ${shown.join(', ')}`);
      }
    }
  }
}

print('a true change of 2 % in 8 of 40 cells: slower, unclear, same, %');
for (const count of [3, 5, 10]) {
  const { slower, unclear, same } = verdictsOn(2, count, matrices, seed);
  print(`  ${count} runs: ${[slower, unclear, same].map(rounded).join(', ')}`);
}

print('unclear cells that are settled by the runs they ask for, %');
for (const count of [3, 5]) print(`  ${count} runs: ${rounded(settledByRuns(count, matrices, seed))}`);

print('a change as large as the detectable one in one cell: found, % (no history, 24 nights)');
const found: number[] = [];
for (const cells of [5, 40, 200, 1000]) {
  for (const count of [3, 5, 10]) {
    const pair = [false, true].map((hasHistory) => power(cells, count, hasHistory, trials, seed));
    found.push(...pair);
    print(`  ${cells} cells, ${count} runs: ${pair.map(rounded).join(', ')}`);
  }
}
const mean = found.reduce((sum, one) => sum + one, 0) / found.length;
print(`  least ${rounded(Math.min(...found))}, most ${rounded(Math.max(...found))}, mean ${rounded(mean)}`);
