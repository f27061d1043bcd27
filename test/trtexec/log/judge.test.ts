import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { type Outcome, outcomeReason } from '../../../src/records/outcome.ts';
import { NO_EXPORTS } from '../../../src/trtexec/run-facts.ts';
import type { JudgedParts } from '../../../src/trtexec/log/judge.ts';
import { H100 } from '../../support/h100.ts';
import { FIXTURES, GUIDE, onlyRun, readFixture } from '../../support/recordings.ts';
import { UNKNOWN_PROCESS, judged } from '../../support/whole-files.ts';

const said = (outcome: Outcome): string => `${outcome.kind}:${outcomeReason(outcome)}`;
const EXPECTED = readFileSync(join(FIXTURES, 'failures', 'expected.tsv'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split('\t'));

test.each(EXPECTED)('recorded failures: %s: %s', async (name = '', expected = '') => {
  const runs = await readRunFolder(join(FIXTURES, 'failures', name));
  const outcomes = runs.map(({ outcome }) => said(outcome));
  // `-`: the log alone cannot tell; it must only not crash.
  if (expected !== '-') {
    expect(expected.split('|')).toContain(outcomes[0]);
    expect(runs[0]?.outcome.evidence).not.toEqual([]);
  }
  expect(outcomes).toHaveLength(1);
});

test.each([
  ['formats/default-run', 'measured:null'],
  ['formats/default-run-opt-shape', 'unfit:shapeGuessed'],
  ['formats/iterations-5', 'unfit:tooFewQueries'],
  ['formats/profile-combined', 'unfit:summaryHidden'],
  ['formats/plan-version-only', 'unfit:summaryHidden'],
  ['formats/help', 'failed:incomplete'],
  ['formats/weak-fp16', 'measured:null'],
  ['formats/build-resnet-tiny', 'built:null'],
])('%s is %s', async (folder, expected) => {
  const [run] = await readRunFolder(join(FIXTURES, folder));
  expect(run && said(run.outcome)).toBe(expected);
});

const P = '[11/21/2026-07:33:53]';
const SUMMARY = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');
const MARKER = 'TensorRT.trtexec [TensorRT v101300] [b1] # trtexec --onnx=a.onnx';

const judge = (log: string | Buffer, parts: Partial<JudgedParts> = {}): string => said(judged(onlyRun(log), parts));

const passed = (...lines: readonly string[]): string =>
  [`&&&& RUNNING ${MARKER}`, ...lines, `&&&& PASSED ${MARKER}`].join('\n');

test('of a cell, a run that only built is none', () => {
  const log = readFixture('formats/build-resnet-tiny/stdout.log.br');
  expect([judge(log, { role: 'build' }), judge(log, { role: 'timed' })]).toEqual(['built:null', 'unfit:summaryHidden']);
});

test('an excerpt without markers is a measurement when its summary is whole; a log that begins must also end', () => {
  expect([judge(SUMMARY), judge(`&&&& RUNNING ${MARKER}\n${SUMMARY}`)]).toEqual(['measured:null', 'failed:incomplete']);
  expect(judge(passed(SUMMARY))).toBe('measured:null');
});

test('every way of cutting a log off is a failure, within its summary an excerpt, and never a measurement', () => {
  const log = passed(SUMMARY);
  const [firstNumber, lastMarker] = [log.indexOf('Throughput'), log.lastIndexOf('&&&&')];
  const end = log.indexOf('Explanations');
  for (let length = 40; length < lastMarker; length += 97) {
    const isExcerpt = length > firstNumber + 40 && length < end;
    expect([length, judge(log.slice(0, length))]).toEqual([length, isExcerpt ? 'unfit:excerpt' : 'failed:incomplete']);
  }
  expect(judge(log.slice(0, end - 10), { process: { ...UNKNOWN_PROCESS, exitCode: 0 } })).toBe('failed:incomplete');
});

test('a build that failed without a word: exit 0, PASSED, 0 MiB', () => {
  const log = passed(`${P} [E] Error[2]: no tactic
${P} [I] Created engine with size: 0 MiB
${P} [I] Engine built in 3.5 sec.
${P} [I] Skipped inference phase since --skipInference is added.`);
  const exited = { ...UNKNOWN_PROCESS, exitCode: 0 };
  expect(judge(log, { process: exited })).toBe('failed:buildFailedSilently');
  expect(judge(log.replace(`${P} [E] Error[2]: no tactic\n`, ''), { process: exited })).toBe('unfit:engineEmpty');
});

test('a graph that could not be captured is not a measurement of a graph', () => {
  const log = passed(`${P} [W] The CUDA graph capture on the stream has failed.`, SUMMARY);
  expect(judge(log)).toBe('unfit:graphNotCaptured');
});

test('options that the banner denies', () => {
  const banner = `${P} [I] === Inference Options ===
${P} [I] Input inference shape : input=8x3x224x224
${P} [I] Spin-wait: Disabled
${P} [I] CUDA Graph: Enabled
${P} [I] `;
  const judgeAsked = (requested: JudgedParts['requested']) => judge(passed(banner, SUMMARY), { requested });
  expect(judgeAsked({ cudaGraph: true })).toBe('measured:null');
  expect(judgeAsked({ cudaGraph: false })).toBe('unfit:optionsDiffer');
  expect(judgeAsked({ spinWait: true })).toBe('unfit:optionsDiffer');
  expect(judgeAsked({ shapes: { input: [8, 3, 224, 224] } })).toBe('measured:null');
  expect(judgeAsked({ shapes: { input: [1, 3, 224, 224] } })).toBe('unfit:optionsDiffer');
});

test('too few queries, too little warm-up', () => {
  const few = passed(`${P} [I] Timing trace has 60 queries over 3.11691 s`, SUMMARY);
  const limits = { minQueries: 61, minWarmUpQueries: 10 };
  expect(judge(few, { limits })).toBe('unfit:tooFewQueries');
  expect(judge(few, { limits: { ...limits, minQueries: 60 } })).toBe('measured:null');
  expect(judge(passed(`${P} [I] Warmup completed 3 queries over 200 ms`, SUMMARY))).toBe('unfit:notWarmedUp');
});

test('a slow model with few warm-up queries is warm when its first queries are no slower', () => {
  const cold = passed(`${P} [I] Warmup completed 3 queries over 200 ms`, SUMMARY);
  const times = (first: number) => ({
    count: 60,
    columns: { computeMs: Float64Array.from({ length: 60 }, (_, i) => (i < 10 ? first : 52)) },
  });
  const judgeTimes = (first: number): string => judge(cold, { exports: { ...NO_EXPORTS, times: times(first) } });
  expect([judgeTimes(52.1), judgeTimes(80)]).toEqual(['measured:null', 'unfit:notWarmedUp']);
});

test('errors in a run that passed are suspect, but not those about an unusable timing cache', () => {
  expect(judge(passed(`${P} [E] Error[9]: Skipping tactic 0x0 due to exception`, SUMMARY))).toBe('unfit:suspectErrors');
  // TensorRT 8.5 and 8.6 (also lightvector/KataGo#739).
  const cache =
    '[E] [TRT] 1: [myelinCache.h::deserializeFromBuffer::52] Error Code 1: Myelin (Myelin error from unknown graph)';
  expect(judge(passed(`${P} ${cache}`, SUMMARY))).toBe('measured:null');
});

test('who ended it: time limit, Ctrl-C, another process, a crash', () => {
  const log = `&&&& RUNNING ${MARKER}\n`;
  const ended = (facts: Partial<typeof UNKNOWN_PROCESS>) => judge(log, { process: { ...UNKNOWN_PROCESS, ...facts } });
  expect(ended({ timedOut: true, signal: 'SIGKILL' })).toBe('failed:timeout');
  expect(ended({ cancelled: true, signal: 'SIGTERM' })).toBe('failed:cancelled');
  expect([ended({ exitCode: 130 }), ended({ exitCode: 137 })]).toEqual(['failed:cancelled', 'failed:killed']);
  expect(ended({ signal: 'SIGSEGV' })).toBe('failed:unknown');
});

test('an accuracy threshold that was missed keeps the numbers (11.1)', () => {
  const log = `&&&& RUNNING ${MARKER}
${SUMMARY}
${P} [E] Accuracy validation FAILED: one or more tensors exceeded the threshold.
&&&& FAILED ${MARKER}`;
  expect(judge(log, { process: { ...UNKNOWN_PROCESS, exitCode: 1 } })).toBe('unfit:suspectErrors');
});

/** Recorded by bench itself on an H100; what each is stands in the README of the recordings. */
const ON_H100: readonly (readonly [folder: string, outcome: string, evidence: string])[] = [
  ['profile-device-not-ready-1', 'failed:cudaError', 'Cuda failure: device not ready'],
  ['profile-device-not-ready-2', 'failed:cudaError', 'Cuda failure: device not ready'],
  ['plugin-not-found', 'failed:operatorUnsupported', 'Cannot find plugin: MyPlugin_TRT'],
  ['dynamic-plugin-no-elf', 'failed:libraryMissing', '/tmp/w/f/bad.so: invalid ELF header'],
  ['wrong-input-name-engine', 'failed:shapeInvalid', 'input tensor with name "data"'],
  ['out-of-profile', 'failed:shapeInvalid', ''],
  ['corrupt-onnx', 'failed:modelInvalid', 'MODEL_DESERIALIZE_FAILED'],
  ['engine-truncated', 'failed:engineInvalid', ''],
];

test.each(ON_H100)('on an H100: %s is %s', async (folder, expected, text) => {
  const [run] = await readRunFolder(join(H100, folder));
  expect([run && said(run.outcome), run?.outcome.evidence[0]?.text]).toEqual([expected, expect.stringContaining(text)]);
});

test('a missing plugin is found on a line without a prefix, too', () => {
  const line = '[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"';
  const log = `&&&& RUNNING ${MARKER}\n${line}\n${P} [E] Failed to parse onnx file\n&&&& FAILED ${MARKER}`;
  expect(judge(log, { process: { ...UNKNOWN_PROCESS, exitCode: 1 } })).toBe('failed:operatorUnsupported');
});
