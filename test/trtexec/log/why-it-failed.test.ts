import { describe, expect, test } from 'vitest';

import type { ProcessFacts } from '../../../src/trtexec/run-facts.ts';
import { outcomeReason } from '../../../src/records/outcome.ts';
import { onlyRun } from '../../support/recordings.ts';
import { UNKNOWN_PROCESS, judged } from '../../support/whole-files.ts';

function failureOf(lines: readonly string[], process: Partial<ProcessFacts> = {}) {
  const outcome = judged(onlyRun(lines.join('\n')), { process: { ...UNKNOWN_PROCESS, ...process } });
  return { kind: outcome.kind, reason: outcomeReason(outcome), evidence: outcome.evidence.map(({ text }) => text) };
}

const why = (lines: readonly string[]): readonly (string | null | undefined)[] => {
  const { reason, evidence } = failureOf(lines);
  return [reason, evidence[0]];
};

const FAILED = '&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx';
const E = '[09/01/2025-21:22:14] [E]';
const NO_ENGINE_SET_UP = `${E} Failed to create engine from model or file.\n${E} Engine set up failed\n${FAILED}`;
const TAIL_OF_BUILD = `${E} Engine could not be created from network\n${E} Building engine failed\n${NO_ENGINE_SET_UP}`;
const TAIL_OF_PARSER = `${E} Failed to parse onnx file
[09/01/2025-21:22:14] [I] Finished parsing network model. Parse time: 0.241168
${E} Parsing model failed
${NO_ENGINE_SET_UP}`;

describe('what TensorRT cannot parse, by the line that says why: real messages, TensorRT 6 to 10', () => {
  test.each([
    [
      '[6] Assertion failed: scaleAllPositive && "Scale coefficients must all be positive"',
      `${E} [TRT] ModelImporter.cpp:771: While parsing node number 6 [QuantizeLinear -> "q"]:
${E} [TRT] ModelImporter.cpp:772: --- Begin node ---
${E} [TRT] ModelImporter.cpp:773: input: "x"
op_type: "QuantizeLinear"
${E} [TRT] ModelImporter.cpp:774: --- End node ---
${E} [TRT] ModelImporter.cpp:777: ERROR: builtin_op_importers.cpp:1197 In function QuantDequantLinearHelper:`,
    ],
    [
      '[shuffleNode.cpp::symbolicExecute::392] Error Code 4: Internal Error (Reshape_2397: IShuffleLayer applied to shape tensor must have 0 or 1 reshape dimensions: dimensions were [-1,2])',
      `${E} [TRT] ModelImporter.cpp:779: ERROR: ModelImporter.cpp:180 In function parseGraph:\n[6] Invalid Node - Pad_2408`,
    ],
    [
      'onnx::QuantizeLinear_429: invalid weights type of Int8',
      `${E} [TRT] parsers/onnx/ModelImporter.cpp:796: ERROR: parsers/onnx/ModelImporter.cpp:179 In function parseGraph:
[6] Invalid Node - Identity_0`,
    ],
  ])('%s', (said, before) => {
    expect(failureOf([before, said, TAIL_OF_PARSER])).toEqual({
      kind: 'failed',
      reason: 'operatorUnsupported',
      evidence: [said, 'Failed to parse onnx file', 'Parsing model failed'],
    });
  });

  test.each([
    `${E} Error[2]: (deserializeOnnxModel): MODEL_DESERIALIZE_FAILED: Assertion failed: model->ParseFromCodedStream(&codedInput) && "Failed to parse the ONNX model."`,
    `${E} [TRT] ModelImporter.cpp:735: Failed to parse ONNX model from file: a.onnx`,
    '[libprotobuf ERROR google/protobuf/text_format.cc:298] Error parsing text-format onnx2trt_onnx.ModelProto: 1:1: Invalid control characters encountered in text.',
  ])('no ONNX file: %s', (line) => expect(failureOf([line, TAIL_OF_PARSER]).reason).toBe('modelInvalid'));
});

const FORMATS =
  'Error[9]: [pluginV2Builder.cpp::reportPluginError::23] Error Code 9: Internal Error (/SCA_IndexRebatch_TRT: could not find any supported formats consistent with input/output data types)';
const NVRTC = 'nvrtc_compile.cpp:940: CHECK(false) failed. NVRTC Compilation failure';
const ILLEGAL =
  '1: [convRunner.cpp::execute::290] Error Code 1: Cuda Runtime (an illegal memory access was encountered)';
const NO_TACTIC =
  'Error[10]: [optimizer.cpp::computeCosts::3869] Error Code 10: Internal Error (Could not find any implementation for node Conv_0.)';
const NO_ENGINE =
  'Error[2]: [builder.cpp::buildSerializedNetwork::743] Error Code 2: Internal Error (Assertion engine != nullptr failed. )';
const ASSERTION = 'Assertion failed: false && "SM version not supported in this NVRTC version"';
const UNHEARD_OF =
  'Error[2]: [checkSanity.cpp::checkSanity::148] Error Code 2: Internal Error (Assertion isIOGraph || tensorInfo.tensors.size() == g.tensors.size() failed. )';

test.each([
  ['of a plugin', `${E} ${FORMATS}\n${E} ${NO_ENGINE}`, FORMATS],
  ['of the compiler of kernels', `${NVRTC}\n${E} ${NO_TACTIC}`, NVRTC],
  ['of CUDA, before a second message', `${E} ${ILLEGAL}\n${E} ${NO_TACTIC}`, ILLEGAL],
  ['that no rule knows', `${E} ${UNHEARD_OF}\n${E} ${NO_ENGINE}`, UNHEARD_OF],
  ['of severity F', `[F] [TRT] ${ASSERTION}`, ASSERTION],
])('a failed build shows the line %s', (_, lines, first) => {
  expect(why([lines, TAIL_OF_BUILD])).toEqual(['buildFailed', first]);
});

test('a timing cache that cannot be read is no reason for a failed build', () => {
  const lines = [
    `${E} Error[1]: [stdArchiveReader.cpp::stdArchiveReaderInitCommon::45] Error Code 1: Serialization (Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match)`,
    '[09/01/2025-21:22:14] [W] [TRT] The timing cache will not be used!',
    `${E} ${UNHEARD_OF}`,
  ];
  expect(why([...lines, TAIL_OF_BUILD])).toEqual(['buildFailed', UNHEARD_OF]);
});

test.each([
  ['[W] [TRT] CUDA initialization failure with error: 222. Please check your CUDA installation', 'cudaError'],
  ['[E] [TRT] Cuda initialization failure with error 2. Please check cuda installation', 'cudaError'],
  ['[W] [TRT] CUDA initialization failure with error: 35. Please check your CUDA installation', 'noGpu'],
])('CUDA does not start, as a warning too, and with or without what follows: %s', (line, reason) => {
  const text = line.replace(/^.*\[TRT\] /, '');
  expect(why([line])).toEqual([reason, text]);
  expect(why([line, '[E] Builder creation failed', TAIL_OF_BUILD])).toEqual([reason, text]);
});

test('a DLA that refuses its work', () => {
  const lines = [
    'NVMEDIA_DLA : 308, ERROR: setInputTensorDesc failed',
    '[E] [TRT] ../rtExt/dla/native/dlaUtils.cpp (166) - DLA Error in submit: 7 (Failure to submit program to DLA engine.)',
    '[E] [TRT] FAILED_EXECUTION: std::exception',
  ];
  expect(why(lines)).toEqual(['inferenceFailed', lines[0]]);
});

test('the versions of engine and library', () => {
  const versions =
    'Error[6]: The engine plan file is not compatible with this version of TensorRT, expecting library version 10.0.1.6 got 10.0.0.6, please rebuild.';
  const lines = [`${E} ${versions}`, `${E} Engine deserialization failed`, `${E} Got invalid engine!`, FAILED];
  expect(why(lines)).toEqual(['engineInvalid', versions]);
});

test('LLVM runs out of memory over a file that is no engine; in a build it may be so', () => {
  const started = (option: string): string => `&&&& RUNNING TensorRT.trtexec [TensorRT v100600] # trtexec ${option}`;
  const abort = { exitCode: 134, signal: 'SIGABRT' } as const;
  const reasonAfter = (...lines: readonly string[]) => failureOf([...lines, 'LLVM ERROR: out of memory'], abort).reason;
  expect(reasonAfter(started('--loadEngine=text.plan'))).toBe('engineInvalid');
  expect(reasonAfter(started('--onnx=a.onnx'))).toBe('outOfMemory');
  const loaded = '[09/01/2025-21:22:14] [I] Engine deserialized in 0.1 sec.';
  expect(reasonAfter(started('--loadEngine=a.plan'), loaded)).toBe('outOfMemory');
});

test('a crash, and a log that is cut, show what was said before', () => {
  const lines = ['&&&& RUNNING TensorRT.trtexec [TensorRT v100600] # trtexec --onnx=a.onnx', `${E} ${UNHEARD_OF}`];
  const crashed = failureOf(lines, { exitCode: 139, signal: 'SIGSEGV' });
  expect(crashed).toMatchObject({ reason: 'unknown', evidence: [UNHEARD_OF, 'crashed by SIGSEGV'] });
  const cut = failureOf(lines);
  expect(cut).toMatchObject({ reason: 'incomplete', evidence: ['the log ends without PASSED or FAILED', UNHEARD_OF] });
  expect(failureOf([`${E} ${UNHEARD_OF}`])).toMatchObject({ reason: 'unknown', evidence: [UNHEARD_OF] });
});
