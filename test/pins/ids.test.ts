import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

import { describe, expect, test } from 'vitest';

import { engineKeyOf } from '../../src/engines/build-engine.ts';
import { matrixIdentity } from '../../src/features/run/resume.ts';
import { loadMatrix, type Matrix } from '../../src/matrix/load.ts';
import { makePlan } from '../../src/matrix/plan/make-plan.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../src/records/environment.ts';
import type { Plan, PlannedBuild } from '../../src/records/plan.ts';
import { runIdOf } from '../../src/run/measure-run.ts';
import { hashOf } from '../../src/text/canonical-json.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { dialect } from '../support/plan-for.ts';
import { queryStore } from '../support/store-dump.ts';
import { kept, KEPT, unpack } from './kept.ts';

/** All that the pins need of the inside of the program, so that a move of files changes this file alone. */
/** References and identities hold absolute paths of models: here this is where a matrix lies. */
const matrixOf = (text: string): Matrix =>
  loadMatrix('/pins/m.yaml', {
    cwd: '/',
    readText: (path) => (path === '/pins/m.yaml' ? text : null),
    hashFiles: () => new Map(),
    readInputs: () => null,
  });

/** A run and a profile of each cell, as that version of TensorRT spells them. */
function planFor(version: string, text: string): Plan {
  const matrix = matrixOf(text);
  const options = { seed: 1, repeats: 2, builds: 1, profile: true, forcesTimingCaches: false };
  return makePlan(matrix, matrix.cells, dialect(version), options);
}

/** The key of an engine on a machine whose facts are fixed. */
const engineKey = (build: PlannedBuild, tensorrt: string, environment: Partial<Environment>, modelSha256: string) =>
  engineKeyOf({ environment, plan: { tensorrt }, program: { env: {}, recordings: null } }, build, modelSha256);

/** As the store computes it of all that is known of a machine. */
const environmentId = (environment: Partial<Environment>): string =>
  hashOf({ ...UNKNOWN_ENVIRONMENT, binding: undefined, harness: undefined, ...environment });

/** What `--resume` compares, to see whether a matrix still means the same. */
const identityOf = (matrix: string): string => matrixIdentity(matrixOf(matrix));

const runId = runIdOf;

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
  return { name: `${basename(path)} ${version}`, text, version, plan: planFor(version, text) };
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

const lines = (ids: readonly (readonly string[])[]): string =>
  `${ids.map(([what, id]) => `${id} ${what}`).join('\n')}\n`;

test('findings of then keep their ids, in the tables of now', async () => {
  const folder = temporaryFolder();
  unpack('history', folder);
  const path = join(folder, 'bench.sqlite');
  expect((await bench(['ls', 'findings'], { cwd: folder })).code).toBe(0);
  const found = queryStore(path, 'SELECT finding_id, cell_key FROM finding_cells ORDER BY finding_id');
  expect(found).toHaveLength(3);
  const text = JSON.stringify(found, null, 1);
  expect(text).toBe(kept('ids/findings.txt', text));
});

test('runs, sweeps, environments and cells of an import', async () => {
  const folder = temporaryFolder();
  const fixtures = ['h100', 'trtexec/failures', 'trtllm-bench/report.json', 'aiperf'];
  await bench(['import', ...fixtures.map((name) => join(ROOT, 'test', 'fixtures', name))], { cwd: folder });
  const stored = queryStore(
    join(folder, 'bench.sqlite'),
    'SELECT run_id, sweep_id, environment_id, cell_key, engine_key, outcome FROM runs ORDER BY run_id',
  );
  expect(stored.length).toBeGreaterThan(50);
  const text = stored.map((row) => JSON.stringify(row)).join('\n');
  expect(text).toBe(kept('ids/imported.txt', text));
});
