import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, ROOT } from '../support/bench.ts';

const MATRICES = join(ROOT, 'matrices');
const EXAMPLES = readdirSync(MATRICES).filter((name) => name.endsWith('.yaml'));
/** What each example is for; without recordings it is planned for this version. */
const VERSIONS: Readonly<Record<string, string>> = {
  'deployment.yaml': '10.14',
  'nightly.yaml': '10.6',
  'reference.yaml': '10.6',
  'tensorrt-11.yaml': '11.0',
  'tensorrt-8.6.yaml': '8.6',
  'two-inputs.yaml': '10.6',
  'warm-up-and-duration.yaml': '10.6',
};

describe('matrices/', () => {
  test.each(EXAMPLES)('%s names its schema first and plans', async (name) => {
    const text = readFileSync(join(MATRICES, name), 'utf8');
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/matrix\.schema\.json\n/);
    const version = VERSIONS[name];
    const args = version === undefined ? [] : ['--tensorrt', version];
    const { code, stdout, stderr } = await bench(['plan', join(MATRICES, name), ...args, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    const plan = JSON.parse(stdout);
    expect(plan.cells.length).toBeGreaterThan(0);
    expect(plan.runs.length).toBeGreaterThanOrEqual(plan.cells.length);
  });

  test('the schema beside them is the one that bench prints', async () => {
    const { stdout } = await bench(['schema', 'matrix']);
    expect(readFileSync(join(MATRICES, 'matrix.schema.json'), 'utf8')).toBe(stdout);
  });
});
