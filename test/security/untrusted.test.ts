import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { CODE_RULES } from '../../src/matrix/load.ts';
import { flagNames } from '../../src/trtexec/flags/flag-table.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';

const MODEL = '{shapes: {x: [1, 3]}, precisions: {fp16: {onnx: m.onnx}}}';
const METRICS = 'metrics: {e2e_ms: {better: lower, unit: ms}}';

/** Each key that makes a matrix a program, in the way that a matrix would state it. */
const CASES: readonly (readonly [text: string, refusal: RegExp])[] = [
  [`trtexec: ./evil\nmodels: {m: ${MODEL}}`, /^bench: m\.yaml:1:1: trtexec: /],
  [`allowUnknownFlags: true\nmodels: {m: ${MODEL}}`, /m\.yaml:1:1: allowUnknownFlags: /],
  [
    `gate: {notify: [mail, a@example.org]}\nmodels: {m: ${MODEL}}`,
    /m\.yaml:1:8: gate\.notify: is started by bench check/,
  ],
  [`drivers: ./evil.js\nmodels: {m: ${MODEL}}`, /m\.yaml:1:1: drivers: loads code into bench/],
  [`reporters: [a, ./evil.js]\nmodels: {m: ${MODEL}}`, /m\.yaml:1:1: reporters: loads code into bench/],
  [`gate: {notify: {module: ./evil.js}}\nmodels: {m: ${MODEL}}`, /gate\.notify: is started by bench check/],
  [`slurm: {time: 10}\nmodels: {m: ${MODEL}}`, /m\.yaml:1:1: slurm: /],
  [
    `models: {m: {harness: {kind: command, run: [./evil, now], ${METRICS}}}}`,
    /m\.yaml:1:14: models\.m\.harness: starts a program/,
  ],
  [`models: {m: {shapes: {x: [1, 3]}, engine: e.plan}}`, /models\.m\.engine: /],
  [`plugins: {dynamic: [./evil.so]}\nmodels: {m: ${MODEL}}`, /m\.yaml:1:1: plugins: loads libraries/],
  [
    `models: {m: ${MODEL}}\nbuild: {flags: {--dynamicPlugins: [./evil.so]}}`,
    /m\.yaml:2:17: build\.flags\.--dynamicPlugins: loads libraries/,
  ],
  [`models: {m: ${MODEL}}\nrun: {flags: {--loadEngine: e}}`, /run\.flags\.--loadEngine: /],
  [`models: {m: ${MODEL}}\nrun: {flags: {--exportTimes: /tmp/x}}`, /run\.flags\.--exportTimes: writes/],
  [`models: {m: ${MODEL}}\naxes: {"--plugins": [a.so]}`, /axes\.--plugins: loads libraries/],
  [`models: {m: ${MODEL}}\naxes: {precision: fp16, env: {LD_PRELOAD: [./evil.so]}}`, /axes\.env: sets variables/],
  [`models: {m: {shapes: {x: [1, 3]}, precisions: {fp16: {engine: e.plan}}}}`, /models\.m\.precisions\.fp16\.engine: /],
  [`models: {m: ${MODEL}}\nprecisions: {fp16: {engine: e.plan}}`, /precisions\.fp16\.engine: /],
  [
    `models: {m: ${MODEL}}\nbuild: {flags: {--remoteAutoTuningConfig: "ssh://host"}}`,
    /build\.flags\.--remoteAutoTuningConfig: connects/,
  ],
  [
    `models: {m: {onnx: m.onnx, shapes: {x: [1, 3]}, precisions: {int8: {from: {via: modelopt, calibration: {data: c.npz}}}}}}`,
    /calibration\.data: is loaded by Python,/,
  ],
  [`models: {m: ${MODEL}}\npython: ./evil`, /m\.yaml:2:1: python: is started/],
];

test.each(CASES)('--untrusted refuses %s before anything starts', async (text, refusal) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'evil'), '#!/bin/sh\ntouch ran\n');
  chmodSync(join(cwd, 'evil'), 0o755);
  writeFileSync(join(cwd, 'm.onnx'), 'model');
  writeFileSync(join(cwd, 'm.yaml'), `${text}\n`);
  // What it extends counts as well.
  writeFileSync(join(cwd, 'over.yaml'), 'extends: m.yaml\n');
  for (const command of [
    ['run', 'm.yaml'],
    ['plan', 'm.yaml'],
    ['run', 'over.yaml', '--dry-run'],
  ]) {
    const { code, stdout, stderr } = await bench([...command, '--untrusted'], { cwd });
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(refusal)]);
    expect(stderr).toContain('--untrusted');
  }
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
});

/** They name a file that is read as numbers, or none at all. */
const HARMLESS =
  '--asyncFileReader --calibProfile --directIO --dumpKernelText --dumpLayerInfo --dumpOptimizationProfile --dumpOutput --dumpProfile --dumpRefit --enablePluginOverride --ignoreParsedPluginLibs --loadInputs --loadRefOutputs --maxShapesCalib --minShapesCalib --optShapesCalib --pluginInstanceNorm --profile --separateProfileRun --tempfileControls --useProfile'.split(
    ' ',
  );

test('each flag of trtexec that names a file, a folder, a library or a host is refused, or known to be harmless', () => {
  const flags = flagNames().filter((flag) => /file|path|dir|plugin|dll|save|load|export|dump|remote/i.test(flag));
  const passed = flags.filter((flag) => !CODE_RULES.some(({ key }) => key.test(flag)));
  expect(flags.length).toBeGreaterThan(20);
  expect(passed.filter((flag) => !HARMLESS.includes(flag))).toEqual([]);
});

test('each rule has a case, and a line in the document', () => {
  const words = CASES.flatMap(([text]) => text.split(/[^\w-]+/));
  const document = readFileSync(join(ROOT, 'docs', 'explanation', 'security.md'), 'utf8');
  for (const { what, key } of CODE_RULES) {
    expect([words.some((word) => key.test(word)), document]).toEqual([true, expect.stringContaining(what)]);
  }
});

test('plan says plainly what a run would execute; --untrusted lets any other matrix through', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'm.yaml'), `models: {m: {harness: {kind: command, run: [./evil, "\\e[31m"], ${METRICS}}}}\n`);
  const text = 'executes what the matrix names: m.yaml:1:14: models.m.harness: starts a program';
  const stated = { code: 0, stdout: expect.stringContaining(text) };
  expect(await bench(['plan', 'm.yaml'], { cwd })).toMatchObject(stated);
  const { code, stdout } = await bench(['plan', join(ROOT, 'matrices', 'quickstart.yaml'), '--untrusted'], { cwd });
  expect([code, stdout.includes('executes what')]).toEqual([0, false]);
  const resumed = await bench(['run', '--resume', '--untrusted'], { cwd });
  expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining('--untrusted')]);
});
