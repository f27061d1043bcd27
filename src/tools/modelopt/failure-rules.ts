import * as z from 'zod';

import type { FailureReason } from '../../records/outcome.ts';
import type { Converter } from '../../records/conversion.ts';

/** Arguments for the interpreter that install the requirements of variants. */
export const MODELOPT_INSTALL = '-m pip install "nvidia-modelopt[onnx]==0.47.0"';

/** Packages that affect the bytes of a variant, and so its identity, each with its possible package names. */
export const MODELOPT_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'nvidia-modelopt': ['nvidia-modelopt'],
  onnx: ['onnx'],
  onnxruntime: ['onnxruntime', 'onnxruntime-gpu'],
  'onnx-graphsurgeon': ['onnx-graphsurgeon'],
  onnxslim: ['onnxslim'],
  numpy: ['numpy'],
};

const versionsSchema = z.object({
  python: z.string(),
  packages: z.record(z.string(), z.string().nullable().catch(null)),
});

/** Reads the output of the Python program in `machine/machine-facts.ts`; null for other output. */
export function readPythonVersions(text: string) {
  try {
    const { python, packages } = versionsSchema.parse(JSON.parse(text));
    return { python, packages: Object.entries(packages) };
  } catch {
    return null;
  }
}

export interface ConversionFacts {
  readonly by: Converter;
  readonly precision: string;
  readonly interpreter: string;
  /** Version of nvidia-modelopt; null if unknown. */
  readonly modelopt: string | null;
  readonly model: string;
}

type Problem = string | ((match: RegExpExecArray, facts: ConversionFacts) => string);

interface More {
  /** Default: `conversionFailed`. */
  readonly reason?: FailureReason;
  /** True if the machine lacks something, so that no other variant could be made either. */
  readonly lacks?: boolean;
}

const LACKS: More = { lacks: true };
const INVALID: More = { reason: 'modelInvalid' };
const NOT_WRITTEN: More = { reason: 'outputNotWritten' };

/**
 * Errors of ModelOpt's ONNX tools (seen with 0.47.0), most reliable first: ID, pattern, and text for the user with the
 * groups of the pattern and the facts in braces. A pattern matches the end of standard error, which follows the logs of
 * standard output. ERROR and WARNING in its log mean nothing: every good run on a CPU prints both.
 */
const RULES: Readonly<Record<string, readonly [pattern: RegExp, problem: Problem, more?: More]>> = {
  notInstalled: [
    /No module named '?modelopt\b/,
    'ModelOpt is not installed in {interpreter}: {interpreter} {install}',
    LACKS,
  ],
  dependencyMissing: [
    /^(?:\w+: )?(?<what>[^\n]+)\nPlease install optional ``\[onnx\]`` dependencies\.\s*$/m,
    'a package of ModelOpt is missing in {interpreter} ({what}): {interpreter} {install}',
    LACKS,
  ],
  packageMissing: [
    /ModuleNotFoundError: No module named '(?<what>[^']+)'/,
    '{precision} needs the Python package {what}, which {interpreter} does not have: {interpreter} {install}',
    LACKS,
  ],
  modeUnsupported: [
    /error: argument (?<option>\S+): invalid choice: '(?<value>[^']*)' \((?<choices>choose from [^)]*)\)/,
    'ModelOpt {modelopt} does not take {value} for {option} ({choices})',
  ],
  flagUnknown: [
    /error: unrecognized arguments: (?<what>.+)/,
    'ModelOpt {modelopt} does not know {what}: bench knows 0.47.0 ({interpreter} {install})',
  ],
  argumentMissing: [
    /error: the following arguments are required: (?<what>.+)/,
    'ModelOpt {modelopt} wants {what} as well: bench knows 0.47.0',
  ],
  diskFull: [
    /\[Errno 28\] No space left on device/,
    'the disk is full: about three times the size of the model must be free where variants are made',
    { reason: 'diskFull' },
  ],
  calibrationMissing: [
    /\[Errno 2\] No such file or directory: '(?<what>[^']*\.np[yz])'/,
    'the calibration data {what} do not exist',
  ],
  modelMissing: [
    /FileNotFoundError: (?:File not found: |\[Errno 2\] No such file or directory: )(?<what>.+)/,
    '{model}: model not found ({what})',
    { reason: 'modelMissing' },
  ],
  outputFolderMissing: [
    /AssertionError: output directory "(?<what>[^"]*)" does not exist/,
    'the folder {what} does not exist: create it first',
    NOT_WRITTEN,
  ],
  outputIsFolder: [
    /IsADirectoryError: \[Errno 21\] Is a directory: (?<what>.+)/,
    '{what} is a folder: name a file for the variant',
    NOT_WRITTEN,
  ],
  notOnnx: [
    /ValidationError: The model does not have an ir_version/,
    '{model} is not an ONNX model: export it again',
    INVALID,
  ],
  damaged: [
    /ValidationError: Unable to parse proto from file/,
    '{model} is damaged or cut short: copy or export it again, and see that nothing writes it meanwhile',
    INVALID,
  ],
  corrupt: [
    /DecodeError: .*Wire format was corrupt/,
    (_, { by, model }) =>
      by === 'autocast'
        ? `${model} is not an ONNX model: export it again`
        : `a file made from ${model} was cut short: a limit on file sizes (ulimit -f) or a full disk`,
    INVALID,
  ],
  calibrationNames: [
    /assert input_name in calibration_data\n[^A-Z]*AssertionError\s*$/,
    'the calibration data lack an input of the model: give one array for each input',
  ],
  extension: [
    /assert onnx_path\.endswith[^\n]*\n[^A-Z]*AssertionError\s*$/,
    '{model}: ModelOpt takes only files that end in .onnx or .pb',
  ],
  calibrationShape: [
    /Got invalid dimensions for input: (?<input>.+?) for the following indices\n(?<which>(?: *index: \d+ Got: -?\d+ Expected: -?\d+\n)+)/,
    ({ groups: { input = '', which = '' } = {} }) => {
      const wrong = [...which.matchAll(/index: (\d+) Got: (-?\d+) Expected: (-?\d+)/g)];
      const words = wrong.map(([, index, got, wanted]) => `dimension ${index} is ${got}, not ${wanted}`);
      return `the calibration data of ${input} have another shape than the model: ${words.join(', ')}`;
    },
  ],
  calibrationType: [
    /Unexpected input data type\. Actual: \(tensor\((?<got>\w+)\)\) ?, expected: \(tensor\((?<wanted>\w+)\)\)/,
    'the calibration data are {got}, and the model takes {wanted}: save them with that type',
  ],
  calibrationPickled: [
    /Calibration data file contains pickled objects/,
    'the calibration data hold Python objects: save plain arrays of numbers',
  ],
  calibrationTooFew: [
    /number sections must be larger than 0\./,
    'the calibration data have fewer samples than one step takes: give at least the first dimension of calibration.shapes (or of build.opt)',
  ],
  calibrationNotFinite: [
    /Too many bins for data range/,
    'values of the calibration are not finite, or all equal: look for NaN and infinity in the data',
  ],
  calibrationShapesMalformed: [
    /in parse_shapes_spec\n[\s\S]*not enough values to unpack/,
    'the calibration shapes are malformed: write input:8x3x224x224',
  ],
  opTypeUnsupported: [
    /Unsupported op types in (?<mode>\w+) mode: '?\{(?<what>[^}]*)\}'?/,
    '{mode} cannot quantize the operator {what}: names are spelt as in the model, such as Conv, Gemm, MatMul',
  ],
  dynamicDimensions: [
    /Invalid input shape: \{(?<what>[^}]*)\}/,
    'a dynamic dimension was calibrated as 1 (shape {what}): state calibration: {shapes: {INPUT: 1x3x224x224}}',
    { reason: 'shapeInvalid' },
  ],
  customOperator: [
    /(?:Found custom operators: \{(?<what>[^}]*)\}[\s\S]*)?NameError: name 'trt' is not defined/,
    ({ groups: { what } = {} }) =>
      `the model has ${what === undefined ? 'a custom operator' : `the custom operator ${what.trim()}`}: its conversion needs TensorRT's Python package`,
    { reason: 'operatorUnsupported' },
  ],
  pluginsNeedTensorrt: [
    /Could not find `TensorrtExecutionProvider`/,
    'plugins need onnxruntime-gpu and TensorRT, and this Python has neither',
    LACKS,
  ],
  autotuneNeedsTensorrt: [
    /Failed to initialize TensorRT benchmark/,
    "autotune needs a GPU and TensorRT's Python package",
    LACKS,
  ],
  alreadyQuantized: [
    /INVALID_GRAPH[^\n]*Type 'tensor\(float8e4m3fn\)'/,
    '{model} is quantized already: make {precision} from the model before that, or name it as it is (precisions: {fp8: {onnx: FILE}})',
    INVALID,
  ],
  outOfMemory: [
    /MemoryError|bad_alloc|Failed to allocate memory/,
    'memory ran out: smaller calibration.shapes take less',
    { reason: 'outOfMemory' },
  ],
};

export const FAILURE_RULES = Object.entries(RULES).map(([id, [pattern, problem, more]]) => ({
  id,
  pattern,
  ...more,
  problem: (match: RegExpExecArray, facts: ConversionFacts): string => {
    if (typeof problem !== 'string') return problem(match, facts);
    const known: Readonly<Record<string, string | null>> = { ...facts, ...match.groups, install: MODELOPT_INSTALL };
    const texts = { ...known, modelopt: facts.modelopt ?? 'of this version' };
    return problem.replaceAll(
      /\{(\w+)\}/g,
      (whole, name: string) =>
        Object.entries(texts)
          .find(([key]) => key === name)?.[1]
          ?.trim() ?? whole,
    );
  },
}));
