// Processes that take one lock again and again: how often two of them had it at once, and what a take costs.
// node benchmarks/locks.ts [SPANS] [PROCESSES]; exit code 1 when there was an overlap
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT, runProcess } from './processes.ts';

const [, , all = '1000000', processes = '8'] = process.argv;
const spans = Math.ceil(Number(all) / Number(processes));
const folder = mkdtempSync(join(tmpdir(), 'bench-locks-'));
const script = join(ROOT, 'test', 'support', 'lock-spans.ts');
const start = performance.now();
try {
  const ended = await Promise.all(
    Array.from({ length: Number(processes) }, (_, number) =>
      runProcess(process.execPath, [script, folder, String(number), processes, String(spans)]),
    ),
  );
  const counts = ended.map(({ stdout }) => /"taken":(\d+),"overlaps":(\d+)/.exec(stdout));
  const sum = (group: number): number => counts.reduce((total, found) => total + Number(found?.[group]), 0);
  const wallS = (performance.now() - start) / 1000;
  const [taken, overlaps] = [sum(1), sum(2)];
  process.stdout.write(`${taken} spans by ${processes} processes in ${wallS.toFixed(1)} s: ${overlaps} overlaps\n`);
  if (overlaps !== 0 || taken < Number(all)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
