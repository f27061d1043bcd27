import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, sharedFolder } from '../../support/bench.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';

const NIGHTS = 14;
/** From this night on the second cell waits for its copies, in the same time. */
const TURNED = 12;

describe('a cell that turned from its compute to its copies', () => {
  const folder = sharedFolder();
  const db = join(folder, 'bench.sqlite');

  async function said(...args: string[]): Promise<string> {
    const expected = args[0] === 'check' || args[0] === 'report' ? 1 : 0;
    const { code, stderr, stdout } = await bench([...args, '--db', db], { cwd: folder, env: { COLUMNS: '160' } });
    // The page says what `check` says, and ends as it does.
    expect([args, code, code === expected ? '' : stderr]).toEqual([args, expected, '']);
    return stdout;
  }

  beforeAll(() => {
    simulateNights(db, {
      cells: simulatedCells(3),
      nights: NIGHTS,
      repeats: 3,
      branch: 'main',
      value: (cell, night, repeat) => 1 + cell + ((night * 7 + repeat * 3) % 5) * 1e-4,
      figures: (cell, night) => ({ boundBy: cell === 1 && night >= TURNED ? 'h2d' : 'compute' }),
    });
  });

  test('is a finding of the second sweep', async () => {
    const { findings } = OUTPUTS.check.parse(JSON.parse(await said('check', '--json')));
    expect(findings.map(({ direction, labels, metrics }) => ({ direction, labels, metrics }))).toEqual([
      {
        direction: 'slower',
        labels: ['vit fp8 2x3x224x224 graph'],
        metrics: [expect.objectContaining({ metric: 'h2dBoundPercent', before: 0, after: 100 })],
      },
    ]);
    expect(await said('check')).toContain('H2D-bound runs');
  });

  test('is said in the comparison, over time, of both sides, on the page and by filters', async () => {
    const turned = 'now bound by copies to the GPU (H2D), before by GPU compute';
    const sweeps: { readonly sweepId: string }[] = JSON.parse(await said('ls', 'sweeps', '--json')).sweeps;
    const [after = '', before = ''] = [sweeps[0], sweeps[2]].map((sweep) => sweep?.sweepId.slice(0, 8));
    const { cells } = OUTPUTS.compare.parse(JSON.parse(await said('compare', before, after, '--json')));
    expect(cells.map(({ reasons }) => reasons.some((reason) => reason.startsWith(turned)))).toEqual([
      false,
      true,
      false,
    ]);
    expect(await said('trend', 'b2')).toContain('bound by copies to the GPU (H2D), before by GPU compute');
    expect(await said('trend', 'b1')).not.toContain('bound by');
    const why = await said('why', 'b2', before, after);
    expect(why).toMatch(/base .* bound by GPU compute\nhead .* bound by copies to the GPU \(H2D\)/);
    expect(await said('show', 'latest')).toMatch(/fp8 +b2 .* h2d /);
    expect(await said('ls', 'cells', '--filter', 'bound=h2d', '--json')).toContain(
      '"label": "vit fp8 2x3x224x224 graph"',
    );
    const page = await said('report', '--html', '-');
    expect(page).toContain('<td class="roomy">h2d</td>');
    expect(page).toContain('bound by copies to the GPU (H2D), before by GPU compute');
  });
});
