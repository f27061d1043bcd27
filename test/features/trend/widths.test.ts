import { join } from 'node:path';

import { expect, test } from 'vitest';

import { textWidth } from '../../../src/terminal/text-width.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';

test.each([1, 2, 60, 400])(
  '%i sweeps: no line is too long, no label cut, the chart fills the width',
  async (nights) => {
    const cwd = temporaryFolder();
    const normal = normals(nights);
    simulateNights(join(cwd, 'bench.sqlite'), {
      cells: simulatedCells(6),
      nights,
      repeats: 1,
      value: (cell, night) => (cell + 1) * (cell === 1 && night >= 50 ? 1.06 : 1) * Math.exp(0.004 * normal()),
    });
    for (const columns of [60, 80, 120, 200]) {
      const env = { ...process.env, COLUMNS: String(columns) };
      const one = await bench(['trend', 'vit fp8 2x3x224x224 graph', '--last', '400'], { cwd, env });
      const several = await bench(['trend'], { cwd, env });
      for (const { code, stdout } of [one, several]) {
        expect(code).toBe(0);
        for (const line of stdout.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns);
        expect(stdout).not.toContain('…x…');
      }
      const axis = one.stdout.split('\n').find((line) => line.includes('└')) ?? '';
      const widest = Math.max(...one.stdout.split('\n').map(textWidth));
      // To the right of the axis are the values of the levels.
      expect(textWidth(axis)).toBeGreaterThanOrEqual(columns - '  0.0000 ms'.length);
      expect(widest).toBe(columns);
      expect(several.stdout.split('\n').filter((line) => line.startsWith('vit '))).toHaveLength(6);
    }
  },
  60_000,
);
