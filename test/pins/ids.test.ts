import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ROOT } from '../support/bench.ts';
import { engineKey, environmentId, identityOf, planFor, runId } from './entry.ts';
import { kept, KEPT } from './kept.ts';

/** Each matrix as these versions of TensorRT spell it. */
const PLANS = [
  ['matrices/nightly.yaml', '10.6.0'],
  ['matrices/nightly.yaml', '11.0.0'],
  ['matrices/deployment.yaml', '11.0.0'],
  ['matrices/tensorrt-11.yaml', '11.0.0'],
  ['matrices/tensorrt-8.6.yaml', '8.6.1'],
  ['matrices/two-inputs.yaml', '10.6.0'],
  ['matrices/warm-up-and-duration.yaml', '10.6.0'],
  ['matrices/quickstart.yaml', '10.6.0'],
  [join(KEPT, 'wide.yaml'), '10.6.0'],
  [join(KEPT, 'wide.yaml'), '11.0.0'],
] as const;

const H200 = { gpuName: 'NVIDIA H200', computeCapability: '9.0', driver: '580.159.04' };
const MACHINES = {
  h200: H200,
  'another driver': { ...H200, driver: '590.1' },
  'a part of a GPU': { ...H200, mig: 'on', host: 'node1', gpuMemoryMib: 20_096 },
  'the same, clocks locked': { ...H200, clockPolicy: 'locked 1590 MHz', powerLimitW: 700 },
  unknown: { tensorrt: '10.6.0' },
};

const plans = PLANS.map(([path, version]) => {
  const text = readFileSync(resolve(ROOT, path), 'utf8');
  const name = `${basename(path)} ${version}`;
  return { name, text, version, plan: planFor(version, text) };
});

describe('ids that stores of today hold', () => {
  test('keys of cells', () => {
    const keys = plans.flatMap(({ name, plan }) =>
      plan.cells.map(({ cell, label }) => [`${name}: ${label}`, cell.key]),
    );
    expect(new Set(keys.map(([, key]) => key)).size).toBeGreaterThanOrEqual(200);
    expect(lines(keys)).toBe(kept('ids/cells.txt', lines(keys)));
  });

  test('keys of engines, on several machines', async () => {
    const keys: string[][] = [];
    for (const { name, plan, version } of plans) {
      for (const build of plan.builds) {
        for (const [machine, facts] of Object.entries(MACHINES)) {
          const key = await engineKey(build, version, facts, 'ab'.repeat(32));
          keys.push([`${name}: ${build.label} ${build.flags.join(' ')}, ${machine}`, key]);
        }
      }
    }
    expect(new Set(keys.map(([, key]) => key)).size).toBeGreaterThanOrEqual(50);
    expect(lines(keys)).toBe(kept('ids/engines.txt', lines(keys)));
  });

  test('references of builds and variants, runs of a sweep, environments', () => {
    const sweep = '0123456789abcdef'.repeat(2);
    const ids = [
      ...plans.flatMap(({ name, plan, text }) => [
        [`${name}: matrix`, identityOf(text)],
        ...plan.builds.map(({ buildRef, label }) => [`${name}: build ${label}`, buildRef]),
        ...plan.variants.map(({ variantRef, label }) => [`${name}: variant ${label}`, variantRef]),
        ...plan.runs
          .slice(0, 10)
          .map((run) => [`${name}: ${run.role} ${run.repeat} ${run.cellKey}`, runId(sweep, run)]),
      ]),
      ...Object.entries(MACHINES).map(([name, facts]) => [name, environmentId(facts)]),
    ];
    expect(lines(ids)).toBe(kept('ids/others.txt', lines(ids)));
  });
});

function lines(ids: readonly (readonly string[])[]): string {
  return `${ids.map(([what, id]) => `${id} ${what}`).join('\n')}\n`;
}
