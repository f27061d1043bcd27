/**
 * Runs the benchmarks of this folder and prints their ratios. No time makes it fail; only what cannot be measured does.
 *
 *     npm run bench:all
 *     node benchmarks/all.ts start-up parse --json
 *     node benchmarks/all.ts --small              whether they still work: see timing.ts
 */
import { cpus } from 'node:os';
import { inspect, parseArgs } from 'node:util';

import { detection, nightly } from './detection.ts';
import { gate } from './gate.ts';
import { htmlReport } from './html-report.ts';
import { importing } from './import.ts';
import { inspectModel } from './inspect.ts';
import { memory } from './memory.ts';
import { merge } from './merge.ts';
import { parse } from './parse.ts';
import { type Benchmark, type Row, tableLines, verdictOf } from './row.ts';
import { scale } from './scale.ts';
import { startUp } from './start-up.ts';
import { stubLoop } from './stub-loop.ts';

const BENCHMARKS: readonly Benchmark[] = [
  startUp,
  parse,
  memory,
  stubLoop,
  importing,
  inspectModel,
  scale,
  merge,
  htmlReport,
  detection,
  nightly,
  gate,
];

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, small: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
const known = BENCHMARKS.map(({ name }) => name);
const unknown = names.filter((name) => !known.includes(name));

if (options.help === true) {
  process.stdout.write(`usage: node benchmarks/all.ts [--json] [--small] [${known.join('|')}]...\n`);
} else if (unknown.length > 0) {
  process.stderr.write(`no benchmark ${unknown.join(', ')}: there are ${known.join(', ')}\n`);
  process.exitCode = 2;
} else {
  const results: { benchmark: string; row: Row }[] = [];
  for (const benchmark of BENCHMARKS) {
    if (names.length > 0 && !names.includes(benchmark.name)) continue;
    process.stderr.write(`${benchmark.name} …\n`);
    try {
      for (const row of await benchmark.run()) results.push({ benchmark: benchmark.name, row });
    } catch (error) {
      process.stderr.write(`${benchmark.name}: ${inspect(error)}\n`);
      process.exitCode = 1;
    }
  }
  if (options.json === true) {
    const machine = { cpuCores: cpus().length, cpu: cpus()[0]?.model ?? null };
    const rows = results.map(({ benchmark, row }) => ({ benchmark, verdict: verdictOf(row), ...row }));
    const report = { schemaVersion: 1, node: process.versions.node, machine, rows };
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
  } else {
    process.stdout.write(`${tableLines(results).join('\n')}\n`);
  }
}
