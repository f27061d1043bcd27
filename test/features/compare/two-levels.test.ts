import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { median } from '../../../src/statistics/order-statistics.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { syntheticLog } from '../../support/fitness-facts.ts';
import { OUTPUTS } from '../../support/outputs.ts';

const SIDES = [
  ['base', '11/21/2026'],
  ['head', '11/22/2026'],
] as const;

/** Five runs of 1 ms, each a little off the others, against five of which some queries take 1.3 ms. Made up. */
async function compared(slowPercent: number) {
  const folder = temporaryFolder();
  const db = ['--db', join(folder, 'bench.sqlite')];
  for (const [side, day] of SIDES) {
    for (let run = 0; run < 5; run += 1) {
      const times = Array.from({ length: 1000 }, (_, query) => {
        const isSlow = side === 'head' && (query * 37) % 100 < slowPercent;
        return (isSlow ? 1.3 : 1) * (1 + 0.0004 * run) * (0.995 + 0.01 * ((query * 0.618) % 1));
      });
      const computeMs = median(times) ?? 0;
      const log = syntheticLog({ throughputQps: 990 / computeMs, computeMs })
        .replaceAll('11/21/2026', day)
        .replaceAll('--loadEngine=a.engine', '--onnx=net.onnx --fp16 --useCudaGraph --exportTimes=times.json');
      const path = join(folder, side, String(run));
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'stdout.log'), log);
      writeFileSync(join(path, 'times.json'), JSON.stringify(times.map((ms) => ({ computeMs: ms, latencyMs: ms }))));
    }
    expect((await bench(['import', join(folder, side), '--sweep', side, ...db])).code).toBe(0);
  }
  const { code, stdout } = await bench(['compare', 'base', 'head', '--json', ...db]);
  const [cell] = OUTPUTS.compare.parse(JSON.parse(stdout)).cells;
  return { code, ...cell };
}

test.each([
  [75, 1, 29.8, ': 75 % of queries at 1.30 ms, the others at 1.00 ms'],
  // The next run may have more queries at the other level.
  [55, 1, 29.5, ', trusted less: 55 % of queries at 1.30 ms, the others at 1.00 ms'],
  [20, 0, 0.1, ': 80 % of queries at 1.00 ms, the others at 1.30 ms'],
])(
  '%i of 100 queries of each run at another level: judged by the median, and said',
  async (slow, code, change, says) => {
    const cell = await compared(slow);
    expect(cell).toMatchObject({ code, changePercent: expect.closeTo(change, 1) });
    expect(cell.verdict).toBe(code === 1 ? 'slower' : 'unclear');
    expect(cell.reasons).toContain(`two levels inside runs${says} (5 of 5 runs of head)`);
    const [least = 0, most = 0] = cell.ciPercent ?? [];
    expect(most - least > 10).toBe(says.startsWith(', trusted less'));
  },
);
