import { spawnSync } from 'node:child_process';

import { runFuzz } from './fuzz/run-fuzz.ts';
import { inTemporaryFolder } from './timing.ts';

const MOST_MIB = 500;
/** Node would rather take more memory than collect what the readers leave: with these it shows what they need. */
const HEAP_LIMITS = ['--max-semi-space-size=4', '--max-old-space-size=256'];

if (!HEAP_LIMITS.every((limit) => process.execArgv.includes(limit))) {
  const [, ...command] = process.argv;
  const { status } = spawnSync(process.execPath, [...HEAP_LIMITS, ...command], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const [inputs = 5000, seed = 1] = process.argv.slice(2).map(Number);
const startMs = performance.now();
const report = await inTemporaryFolder((root) =>
  runFuzz(
    inputs,
    seed,
    root,
    () => performance.now(),
    (done) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${inputs}`);
    },
  ),
);
const tookS = (performance.now() - startMs) / 1000;
const peakMib = process.resourceUsage().maxRSS / 1024;
for (const { name, inputs: tried, longestMs, refused } of report.targets) {
  printLine(
    `${name.padEnd(12)} ${String(tried).padStart(8)} inputs ${String(refused).padStart(8)} refused, longest ${longestMs.toFixed(0)} ms`,
  );
}
for (const line of [...report.findings, ...report.slow]) printLine(line);
printLine(
  `${report.inputs} inputs in ${tookS.toFixed(0)} s (${Math.round(report.inputs / tookS)} a second), seed ${seed}: ` +
    `${report.findings.length} crashes or wrong answers, ${report.slow.length} over 1 s, ` +
    `at most ${Math.round(peakMib)} MiB (limit ${MOST_MIB})`,
);
const isWell = report.findings.length + report.slow.length === 0 && peakMib < MOST_MIB;
process.exitCode = isWell ? 0 : 1;

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
