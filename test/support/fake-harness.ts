import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FAKE_HARNESS = join(import.meta.dirname, 'fake-harness.mjs');

/**
 * A matrix of one cell that a made-up harness measures: 100 runs/s, and so many under ENABLE_PERFECT_ROUTER=1, with 1 % of
 * noise. `calls` beside it is what was started, one letter each: A, or B under the variable.
 */
export function fakeHarnessMatrix(folder: string, perfect: number, more: readonly string[] = []): string {
  const path = join(folder, 'moe.yaml');
  const lines = [
    'name: moe',
    'models:',
    '  moe:',
    '    harness:',
    '      kind: command',
    `      run: ${JSON.stringify([process.execPath, FAKE_HARNESS, join(folder, 'calls'), 1, 100, perfect, 1])}`,
    '      metrics: {rate: {unit: runs/s, better: higher}}',
    '      version: 1.2.0rc7',
    ...more,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
