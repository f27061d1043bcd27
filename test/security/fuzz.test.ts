import { expect, test } from 'vitest';

import { runFuzz } from '../../benchmarks/fuzz/run-fuzz.ts';
import { temporaryFolder } from '../support/bench.ts';

test('of 5000 damaged inputs none is a crash, a false measurement or a write outside', async () => {
  const report = await runFuzz(5000, 1, temporaryFolder(), () => 0);
  expect(report.findings).toEqual([]);
  expect(report.inputs).toBeGreaterThanOrEqual(5000);
  // Damage is found, and not everything is refused for it.
  for (const { inputs, name, refused } of report.targets) {
    const hasPlainRefusal = !['log', 'csv', 'run folder', 'import'].includes(name);
    if (hasPlainRefusal) expect([name, refused > 0 && refused < inputs]).toEqual([name, true]);
  }
});
