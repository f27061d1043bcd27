import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { expect, test } from 'vitest';

import type { Checked } from '../../src/features/check/output.ts';
import type { ReportedSweep } from '../../src/features/export/index.ts';
import { API } from '../../src/harnesses/plug-in.ts';
import type * as published from '../../plug-in.d.ts';
import { bench, refusal, ROOT, temporaryFolder } from '../support/bench.ts';

const EXAMPLE = join(ROOT, 'test', 'fixtures', 'plug-in');

/** A folder with the example package installed, and a hyperfine that took `medianS`. */
function withExample(medianS: number) {
  const cwd = temporaryFolder();
  const modules = join(cwd, 'node_modules');
  mkdirSync(modules);
  cpSync(EXAMPLE, join(modules, 'trtbench-hyperfine'), { recursive: true });
  symlinkSync(ROOT, join(modules, 'trtbench'));
  writeFileSync(
    join(cwd, 'm.yaml'),
    `drivers: trtbench-hyperfine
reporters: [trtbench-hyperfine/reporter]
gate: {notify: {module: trtbench-hyperfine/notify}}
models:
  nap: {harness: {kind: hyperfine, command: "sleep 0.{tenths}"}}
axes: {tenths: [1, 2]}
repeats: 2
`,
  );
  const hyperfine = join(cwd, 'hyperfine');
  const takes = (seconds: number): void => {
    const report = JSON.stringify({ results: [{ median: seconds, times: [seconds, seconds] }] });
    writeFileSync(hyperfine, `#!/bin/sh\necho '${report}' > "$5"\n`);
    chmodSync(hyperfine, 0o755);
  };
  takes(medianS);
  const env = { PATH: [cwd, process.env['PATH']].join(delimiter) };
  return { cwd, takes, type: (...words: readonly string[]) => bench([...words], { cwd, env }) };
}

test('a package measures, reports and tells what is new, and its runs come back from artefacts', async () => {
  const { cwd, takes, type } = withExample(0.5);
  for (const seconds of [0.5, 0.5, 0.6, 0.6]) {
    takes(seconds);
    expect(await type('run', 'm.yaml')).toMatchObject({ code: 0 });
  }
  const line = 'm: 2 cells\nnap tenths=1 by hyperfine/wall: 600\nnap tenths=2 by hyperfine/wall: 600\n';
  expect((await type('report', '--reporter', 'lines', '--fail-on', 'failed')).stdout).toBe(line);
  expect(await type('report', '--reporter', 'line')).toEqual(
    refusal('--reporter line: not under reporters: in the matrix'),
  );
  expect((await type('check')).code).toBe(1);
  expect(readFileSync(join(cwd, 'news.txt'), 'utf8')).toBe(
    'nap tenths=1 by hyperfine/wall, nap tenths=2 by hyperfine/wall: commandMs:lower:ms 20.0 %\n',
  );
  const driver = './node_modules/trtbench-hyperfine/driver.js';
  const restored = await type('import', 'artefacts', '--db', 'again.sqlite', '--as', driver, '--json');
  expect(JSON.parse(restored.stdout).sweeps.map(({ outcomes }: { outcomes: unknown }) => outcomes)).toEqual(
    Array.from({ length: 4 }, () => ({ measured: 4, built: 0, unfit: 0, failed: 0 })),
  );
});

const SETTINGS = 'settings: z.strictObject({a: z.number()})';
const READS = 'read: () => 1';

/** What `bench plan` says of a driver. */
async function planned(code: string, name = './driver.mjs') {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'driver.mjs'), code);
  writeFileSync(join(cwd, 'm.yaml'), `drivers: [${name}]\nmodels:\n  s: {harness: {kind: toy, a: 1}}\n`);
  return bench(['plan', 'm.yaml'], { cwd });
}

const toy = (plan: string, kind = 'toy'): string =>
  `export default ({z, defineDriver}) => defineDriver({kind: '${kind}', ${SETTINGS}, plan: ${plan}, ${READS}})`;

test.each([
  ['export default 1', 'm.yaml:1:11: drivers: ./driver.mjs: its default export is not a function'],
  ['throw new Error("no \\u001b[31mlicense\\nsecond")', 'm.yaml:1:11: drivers: ./driver.mjs: no \\u001b[31mlicense'],
  [
    'export default () => ({kind: "toy"})',
    'm.yaml:1:11: drivers: ./driver.mjs: makes no driver: return bench.defineDriver({kind, settings, plan, read})',
  ],
  [toy('() => ({})', 'command'), 'm.yaml:1:11: drivers: ./driver.mjs: bench already has a driver command'],
  [toy('() => { throw new Error("oops"); }'), 'm.yaml:3:16: driver toy: oops'],
  [toy('() => ({kind: "planned", cell: {}})'), 'm.yaml:3:16: driver toy: gives a wrong cell.harness: Invalid input'],
])('a broken driver is said in one line with its place: %s', async (code, line) => {
  expect(await planned(code)).toEqual(refusal(`bench: ${line}`));
});

test('a reading without the number that its cell is judged by is no measurement', async () => {
  const cwd = temporaryFolder();
  const method = `{harness: 'toy', harnessVersion: null, timer: 'wall', inFlight: 1, percentileRule: 'unknown', transfers: null, warmUpRuns: null, timedRuns: null}`;
  writeFileSync(
    join(cwd, 'driver.mjs'),
    `export default ({z, defineDriver, plannedProgram, customMetric}) => defineDriver({kind: 'toy', ${SETTINGS},
      plan: (settings, {resolve}) => plannedProgram(settings, resolve, 1, {
        harness: {name: 'toy', timer: 'wall', metric: customMetric('x', 'lower', 'ms')}, run: ['true'], resultFiles: [],
      }),
      read: () => ({kind: 'read', reading: {method: ${method}, latencyMs: null, values: []}})})`,
  );
  writeFileSync(join(cwd, 'm.yaml'), 'drivers: ./driver.mjs\nmodels: {s: {harness: {kind: toy, a: 1}}}\nrepeats: 1\n');
  const stdout = expect.stringContaining('no value of x, the metric of its verdicts');
  expect(await bench(['run', 'm.yaml', '--no-telemetry'], { cwd })).toMatchObject({ code: 4, stdout });
});

test('one that is not there, as a file and as a package', async () => {
  const place = 'bench: m.yaml:1:11: drivers: ';
  for (const name of ['./none.mjs', 'none.mjs']) {
    const text = `${place}${name}: not found: a file is named ./FILE.js, and a package must be installed there\n`;
    expect(await planned('', name)).toEqual(refusal(text));
  }
});

test('the published types are those of bench, and the example package keeps them', () => {
  // Checked by the compiler: what bench hands out fits what plug-ins were told.
  const { customMetric, faulty, orAxis, plannedProgram, wrong } = API;
  const api: Pick<published.PlugInApi, 'customMetric' | 'faulty' | 'wrong'> = { customMetric, faulty, wrong };
  const reported = (sweep: ReportedSweep): published.ReportedSweep => sweep;
  const checked = (output: Checked): published.Checked => output;
  const plan: published.PlugInApi['plannedProgram'] = plannedProgram;
  expect([api, reported, checked, plan, orAxis].every((each) => each !== undefined)).toBe(true);
  const names: Record<keyof published.PlugInApi, true> = {
    z: true,
    customMetric: true,
    defineDriver: true,
    faulty: true,
    orAxis: true,
    plannedProgram: true,
    programSettings: true,
    wrong: true,
  };
  expect(Object.keys(API).toSorted()).toEqual(Object.keys(names).toSorted());

  const { cwd } = withExample(0.5);
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options =
    '--noEmit --allowJs --checkJs --strict --skipLibCheck --module nodenext --target es2023 --types node'.split(' ');
  const types = join(ROOT, 'node_modules', '@types');
  const files = ['driver', 'reporter', 'notify'].map((name) => `node_modules/trtbench-hyperfine/${name}.js`);
  const encoding = 'utf8';
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, '--typeRoots', types, ...files], { cwd, encoding });
  expect(stdout).toBe('');
}, 60_000);
