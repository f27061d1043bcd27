import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { FAILURE_RULES } from '../../../src/tools/modelopt/failure-rules.ts';
import { type ConversionResult, judgeConversion } from '../../../src/tools/modelopt/judge.ts';
import { ROOT } from '../../support/bench.ts';

const FOLDER = join(ROOT, 'test', 'fixtures', 'modelopt');

interface ModeloptCase {
  readonly name: string;
  readonly exitCode: number;
  readonly argv: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Every recorded run of ModelOpt 0.47.0 (Python 3.11, CPU): its logs, with paths replaced by words such as `<venv>`. */
function modeloptCases(): ModeloptCase[] {
  const [, ...lines] = readFileSync(join(FOLDER, 'cases.tsv'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [name = '', exitCode = '', , , , , argv = ''] = line.split('\t');
    return { name, exitCode: Number(exitCode), argv, ...logsOf(name) };
  });
}

function logsOf(name: string): { readonly stdout: string; readonly stderr: string } {
  return { stdout: logText(`${name}.stdout.log.br`), stderr: logText(`${name}.stderr.log.br`) };
}

/** A log that is not there was empty. */
function logText(file: string): string {
  try {
    return brotliDecompressSync(readFileSync(join(FOLDER, file))).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

const INSTALL = 'python3 -m pip install "nvidia-modelopt[onnx]==0.47.0"';
const QUANTIZED_BEFORE = /^m\.onnx is quantized already.*name it as it is/;
const NOTHING = /^ModelOpt quantized no node of m\.onnx: it would not be (fp8|int8)\. It leaves out /;
const DISK = /^the disk is full: about three times the size of the model must be free/;
const DAMAGED = /^m\.onnx is damaged or cut short/;
const NOT_ONNX = 'm.onnx is not an ONNX model: export it again';

/** What a person is told of every recorded run that was no success; also of those with exit code 0. */
const FAILURES: Readonly<Record<string, readonly [string | null, string | RegExp]>> = {
  autocast_err_invalid: ['corrupt', NOT_ONNX],
  autocast_err_missing: ['modelMissing', "m.onnx: no such model ('nope.onnx')"],
  autocast_err_on_fp8_qdq: ['alreadyQuantized', QUANTIZED_BEFORE],
  autocast_err_type: ['modeUnsupported', /does not take fp8 for .*\(choose from 'fp16', 'bf16'\)/],
  err_autotune_no_tensorrt: ['autotuneNeedsTensorrt', /^autotune needs a GPU and TensorRT/],
  err_calib_fewer_than_batch: ['calibrationTooFew', /fewer samples than one step takes: give/],
  err_calib_missing: ['calibrationMissing', 'the calibration data none.npz are not there'],
  err_calib_nan: ['calibrationNotFinite', /look for NaN and infinity/],
  err_calib_pickle: ['calibrationPickled', /save plain arrays of numbers/],
  err_calib_shapes_bad: ['calibrationShapesMalformed', /write input:8x3x224x224/],
  err_calib_wrong_dtype: [
    'calibrationType',
    'the calibration data are double, and the model takes float: save them with that type',
  ],
  err_calib_wrong_name: ['calibrationNames', /give one array for each input/],
  err_calib_wrong_shape: [
    'calibrationShape',
    'the calibration data of input have another shape than the model: dimension 2 is 16, not 32, dimension 3 is 16, not 32',
  ],
  err_custom_op: [
    'customOperator',
    "the model has the custom operator 'MyPlugin': its conversion needs TensorRT's Python package",
  ],
  err_disk_full_input_dir: ['diskFull', DISK],
  err_disk_full_output_dir: ['diskFull', DISK],
  err_disk_full_tmp: ['diskFull', DISK],
  err_dynamic_vit_no_shapes: ['dynamicDimensions', /calibrated as 1 \(shape 1,1\): state calibration/],
  err_empty_onnx: ['notOnnx', NOT_ONNX],
  err_extension: ['extension', /only files that end in \.onnx or \.pb/],
  err_file_size_limit: ['corrupt', /a file made from m\.onnx was cut short: a limit on file sizes/],
  err_invalid_onnx: ['notOnnx', NOT_ONNX],
  err_missing_onnx: ['modelMissing', 'm.onnx: no such model (nope.onnx)'],
  err_no_modelopt: ['notInstalled', `ModelOpt is not installed in python3: ${INSTALL}`],
  err_no_onnx_path: ['argumentMissing', /wants --onnx_path as well/],
  err_no_torch: [
    'dependencyMissing',
    `a package of ModelOpt is missing in python3 (import of torch halted; None in sys.modules): ${INSTALL}`,
  ],
  err_op_type_typo: ['opTypeUnsupported', /^fp8 cannot quantize the operator 'Matmul': .*MatMul/],
  err_output_dir_missing: ['outputFolderMissing', /sub\/dir is not there: make it first/],
  err_output_is_directory: ['outputIsFolder', "'.' is a folder: name a file for the variant"],
  err_parallel_same_dir: ['damaged', DAMAGED],
  err_trt_plugins: ['pluginsNeedTensorrt', /onnxruntime-gpu and TensorRT/],
  err_truncated_onnx: ['damaged', DAMAGED],
  err_unknown_flag: ['flagUnknown', /^ModelOpt 0\.47\.0 does not know --turbo: /],
  err_unsupported_mode: ['modeUnsupported', /does not take fp6 .*\(choose from 'fp8', 'int8', 'int4'\)/],
  ok_log_level_error: [null, /the log does not say how many nodes were quantized/],
  ok_mlp_tiny_fp8: ['nothingConverted', NOTHING],
  ok_mlp_tiny_int8: ['nothingConverted', NOTHING],
  warn_already_quantized: ['alreadyQuantized', QUANTIZED_BEFORE],
  warn_mlp_small_fp8_batch1: ['nothingConverted', NOTHING],
  warn_nothing_to_quantize: ['nothingConverted', NOTHING],
};

/** Recorded runs by the nodes that have the new precision, of how many. */
const SUCCESSES = [
  [
    69,
    69,
    'autocast_ok_bf16 autocast_ok_calib autocast_ok_keep_io autocast_ok_no_out autocast_ok_on_fp16_input autocast_ok_vit_tiny_fp16',
  ],
  [5, 5, 'autocast_ok_mlp_tiny_fp16'],
  [22, 22, 'autocast_ok_resnet_tiny_fp16'],
  [
    18,
    131,
    'ok_calib_cpu_only ok_external_data ok_hp_bf16 ok_log_file ok_method_max ok_no_output_path ok_opset_17 ok_override_shapes ok_shapes_batch4 ok_simplify ok_vit_tiny_fp8 ok_vit_tiny_fp8_npz_run1 ok_vit_tiny_fp8_npz_run2 warn_calib_shapes_unknown_input warn_eps_trt_only warn_method_wrong_for_mode',
  ],
  [18, 129, 'ok_direct_io ok_fp16_input ok_hp_fp32'],
  [14, 115, 'ok_disable_mha'],
  [18, 123, 'ok_dq_only'],
  [2, 30, 'ok_dynamic_hw_shapes ok_resnet_tiny_fp8 warn_dynamic_hw_no_shapes'],
  [3, 8, 'ok_int4'],
  [1, 23, 'ok_int4_resnet'],
  [22, 143, 'ok_mha_acc_fp32'],
  [2, 15, 'ok_mlp_small_fp8_batch8'],
  [12, 119, 'ok_op_types_matmul'],
  [27, 127, 'ok_resnet_small_fp8'],
  [30, 135, 'ok_resnet_small_int8'],
  [10, 54, 'ok_resnet_tiny_int8'],
  [118, 741, 'ok_vit_base_fp8 ok_vit_small_fp8'],
  [119, 745, 'ok_vit_small_int8'],
  [19, 135, 'ok_vit_tiny_int8'],
] as const;

/** By name. What the `warn_` ones leave to luck is refused before ModelOpt is started: test/tools/modelopt/checks.test.ts. */
const MADE = SUCCESSES.flatMap(([nodes, of, names]) => names.split(' ').map((name) => ({ name, nodes, of })));

function judge({ argv, exitCode, ...log }: ModeloptCase): ConversionResult {
  const by = argv.includes('modelopt.onnx.autocast') ? 'autocast' : 'modelopt';
  const precision = /--quantize_mode=(\w+)/.exec(argv)?.[1] ?? 'fp16';
  const facts = { by, precision, interpreter: 'python3', modelopt: '0.47.0', model: 'm.onnx' } as const;
  return judgeConversion(log, { exitCode, signal: null, timedOut: false }, facts);
}

const CASES = modeloptCases();

test('every recorded run is expected to be something', () => {
  const known = [...Object.keys(FAILURES), ...MADE.map(({ name }) => name)];
  expect(CASES.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
  expect(CASES).toHaveLength(84);
});

test.for(Object.entries(FAILURES))('%s', ([name, [rule, problem]]) => {
  const found = CASES.find((entry) => entry.name === name);
  const result = found === undefined ? null : judge(found);
  expect(result).toMatchObject({ kind: 'failed', rule });
  if (result?.kind !== 'failed') return;
  if (typeof problem === 'string') expect(result.problem).toBe(problem);
  else expect(result.problem).toMatch(problem);
  expect(result.problem).not.toContain('\n');
  expect(result.evidence[0]?.text).toBe(result.problem);
});

test.for(MADE)('$name', ({ name, nodes, of }) => {
  const found = CASES.find((entry) => entry.name === name);
  expect(found === undefined ? null : judge(found)).toEqual({ kind: 'made', converted: { nodes, of } });
});

describe('what the rules rest on', () => {
  test('every rule but that of memory and that of packages was seen in a recording', () => {
    const seen = new Set(CASES.map(judge).flatMap((result) => (result.kind === 'failed' ? [result.rule] : [])));
    const unseen = FAILURE_RULES.map(({ id }) => id).filter((id) => !seen.has(id));
    expect(unseen).toEqual(['packageMissing', 'outOfMemory']);
  });

  test('a package that the machine lacks is told from a model that does not do', () => {
    const lacking = CASES.filter((entry) => {
      const result = judge(entry);
      return result.kind === 'failed' && result.lacks;
    });
    expect(lacking.map(({ name }) => name).toSorted()).toEqual([
      'err_autotune_no_tensorrt',
      'err_no_modelopt',
      'err_no_torch',
      'err_trt_plugins',
    ]);
  });
});

describe('processes that others ended', () => {
  const log = logsOf('ok_vit_tiny_fp8');
  const facts = { by: 'modelopt', precision: 'fp8', interpreter: 'p', modelopt: null, model: 'm' } as const;

  test.for([
    [{ exitCode: null, signal: 'SIGTERM', timedOut: true }, 'timeout'],
    [{ exitCode: null, signal: 'SIGKILL', timedOut: false }, 'killed'],
    [{ exitCode: 137, signal: null, timedOut: false }, 'killed'],
  ] as const)('%j', ([process, reason]) => {
    expect(judgeConversion(log, process, facts)).toMatchObject({ kind: 'failed', reason });
  });

  test('what a log hides from a terminal becomes visible', () => {
    const stderr = 'Traceback\nValueError: \u001b[31mred\u001b[0m\n';
    const process = { exitCode: 1, signal: null, timedOut: false };
    const result = judgeConversion({ stdout: '', stderr }, process, facts);
    expect(result.kind === 'failed' ? result.problem : '').toBe('it ended with: ValueError: \\u001b[31mred\\u001b[0m');
  });
});
