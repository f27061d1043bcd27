import type { Converter } from '../../variants/conversion.ts';
import type { FailureReason } from '../../records/outcome.ts';
import { MODELOPT_INSTALL } from './names.ts';

export interface ConversionFacts {
  readonly by: Converter;
  readonly precision: string;
  readonly interpreter: string;
  /** Version of nvidia-modelopt; null if unknown. */
  readonly modelopt: string | null;
  readonly model: string;
}

export interface FailureRule {
  readonly id: string;
  /** Else `conversionFailed`. */
  readonly reason?: FailureReason;
  readonly lacks?: boolean;
  /** Matches the end of standard error; the logs of standard output come before it. */
  readonly pattern: RegExp;
  readonly problem: (match: RegExpExecArray, facts: ConversionFacts) => string;
}

const group = (match: RegExpExecArray, name: string): string => match.groups?.[name]?.trim() ?? '';

/**
 * Errors of ModelOpt's ONNX tools (seen with 0.47.0), most reliable first, with the message for the user. ERROR and
 * WARNING in its log mean nothing: every good run on a CPU prints both.
 */
export const FAILURE_RULES: readonly FailureRule[] = [
  {
    id: 'notInstalled',
    lacks: true,
    pattern: /No module named '?modelopt\b/,
    problem: (_, { interpreter }) => `ModelOpt is not installed in ${interpreter}: ${interpreter} ${MODELOPT_INSTALL}`,
  },
  {
    id: 'dependencyMissing',
    lacks: true,
    pattern: /^(?:\w+: )?(?<what>[^\n]+)\nPlease install optional ``\[onnx\]`` dependencies\.\s*$/m,
    problem: (match, { interpreter }) =>
      `a package of ModelOpt is missing in ${interpreter} (${group(match, 'what')}): ${interpreter} ${MODELOPT_INSTALL}`,
  },
  {
    id: 'packageMissing',
    lacks: true,
    pattern: /ModuleNotFoundError: No module named '(?<what>[^']+)'/,
    problem: (match, { interpreter, precision }) =>
      `${precision} needs the Python package ${group(match, 'what')}, which ${interpreter} does not have: ${interpreter} ${MODELOPT_INSTALL}`,
  },
  {
    id: 'modeUnsupported',
    pattern: /error: argument (?<option>\S+): invalid choice: '(?<value>[^']*)' \((?<choices>choose from [^)]*)\)/,
    problem: (match, { modelopt }) =>
      `ModelOpt ${modelopt ?? ''} does not take ${group(match, 'value')} for ${group(match, 'option')} (${group(match, 'choices')})`,
  },
  {
    id: 'flagUnknown',
    pattern: /error: unrecognized arguments: (?<what>.+)/,
    problem: (match, { interpreter, modelopt }) =>
      `ModelOpt ${modelopt ?? 'of this version'} does not know ${group(match, 'what')}: bench knows 0.47.0 (${interpreter} ${MODELOPT_INSTALL})`,
  },
  {
    id: 'argumentMissing',
    pattern: /error: the following arguments are required: (?<what>.+)/,
    problem: (match, { modelopt }) =>
      `ModelOpt ${modelopt ?? 'of this version'} wants ${group(match, 'what')} as well: bench knows 0.47.0`,
  },
  {
    id: 'diskFull',
    reason: 'diskFull',
    pattern: /\[Errno 28\] No space left on device/,
    problem: () => 'the disk is full: about three times the size of the model must be free where variants are made',
  },
  {
    id: 'calibrationMissing',
    pattern: /\[Errno 2\] No such file or directory: '(?<what>[^']*\.np[yz])'/,
    problem: (match) => `the calibration data ${group(match, 'what')} are not there`,
  },
  {
    id: 'modelMissing',
    reason: 'modelMissing',
    pattern: /FileNotFoundError: (?:File not found: |\[Errno 2\] No such file or directory: )(?<what>.+)/,
    problem: (match, { model }) => `${model}: no such model (${group(match, 'what')})`,
  },
  {
    id: 'outputFolderMissing',
    reason: 'outputNotWritten',
    pattern: /AssertionError: output directory "(?<what>[^"]*)" does not exist/,
    problem: (match) => `the folder ${group(match, 'what')} is not there: make it first`,
  },
  {
    id: 'outputIsFolder',
    reason: 'outputNotWritten',
    pattern: /IsADirectoryError: \[Errno 21\] Is a directory: (?<what>.+)/,
    problem: (match) => `${group(match, 'what')} is a folder: name a file for the variant`,
  },
  {
    id: 'notOnnx',
    reason: 'modelInvalid',
    pattern: /ValidationError: The model does not have an ir_version/,
    problem: (_, { model }) => `${model} is not an ONNX model: export it again`,
  },
  {
    id: 'damaged',
    reason: 'modelInvalid',
    pattern: /ValidationError: Unable to parse proto from file/,
    problem: (_, { model }) =>
      `${model} is damaged or cut short: copy or export it again, and see that nothing writes it meanwhile`,
  },
  {
    id: 'corrupt',
    reason: 'modelInvalid',
    pattern: /DecodeError: .*Wire format was corrupt/,
    problem: (_, { by, model }) =>
      by === 'autocast'
        ? `${model} is not an ONNX model: export it again`
        : `a file made from ${model} was cut short: a limit on file sizes (ulimit -f) or a full disk`,
  },
  {
    id: 'calibrationNames',
    pattern: /assert input_name in calibration_data\n[^A-Z]*AssertionError\s*$/,
    problem: () => 'the calibration data lack an input of the model: give one array for each input',
  },
  {
    id: 'extension',
    pattern: /assert onnx_path\.endswith[^\n]*\n[^A-Z]*AssertionError\s*$/,
    problem: (_, { model }) => `${model}: ModelOpt takes only files that end in .onnx or .pb`,
  },
  {
    id: 'calibrationShape',
    pattern:
      /Got invalid dimensions for input: (?<input>.+?) for the following indices\n(?<which>(?: *index: \d+ Got: -?\d+ Expected: -?\d+\n)+)/,
    problem: (match) => {
      const wrong = [...group(match, 'which').matchAll(/index: (\d+) Got: (-?\d+) Expected: (-?\d+)/g)];
      const words = wrong.map(([, index, got, wanted]) => `dimension ${index} is ${got}, not ${wanted}`);
      return `the calibration data of ${group(match, 'input')} have another shape than the model: ${words.join(', ')}`;
    },
  },
  {
    id: 'calibrationType',
    pattern: /Unexpected input data type\. Actual: \(tensor\((?<got>\w+)\)\) ?, expected: \(tensor\((?<wanted>\w+)\)\)/,
    problem: (match) =>
      `the calibration data are ${group(match, 'got')}, and the model takes ${group(match, 'wanted')}: save them with that type`,
  },
  {
    id: 'calibrationPickled',
    pattern: /Calibration data file contains pickled objects/,
    problem: () => 'the calibration data hold Python objects: save plain arrays of numbers',
  },
  {
    id: 'calibrationTooFew',
    pattern: /number sections must be larger than 0\./,
    problem: () =>
      'the calibration data have fewer samples than one step takes: give at least the first dimension of calibration.shapes (or of build.opt)',
  },
  {
    id: 'calibrationNotFinite',
    pattern: /Too many bins for data range/,
    problem: () => 'values of the calibration are not finite, or all equal: look for NaN and infinity in the data',
  },
  {
    id: 'calibrationShapesMalformed',
    pattern: /in parse_shapes_spec\n[\s\S]*not enough values to unpack/,
    problem: () => 'the calibration shapes are malformed: write input:8x3x224x224',
  },
  {
    id: 'opTypeUnsupported',
    pattern: /Unsupported op types in (?<mode>\w+) mode: '?\{(?<what>[^}]*)\}'?/,
    problem: (match) =>
      `${group(match, 'mode')} cannot quantize the operator ${group(match, 'what')}: names are spelt as in the model, such as Conv, Gemm, MatMul`,
  },
  {
    id: 'dynamicDimensions',
    reason: 'shapeInvalid',
    pattern: /Invalid input shape: \{(?<what>[^}]*)\}/,
    problem: (match) =>
      `a dynamic dimension was calibrated as 1 (shape ${group(match, 'what')}): state calibration: {shapes: {INPUT: 1x3x224x224}}`,
  },
  {
    id: 'customOperator',
    reason: 'operatorUnsupported',
    pattern: /(?:Found custom operators: \{(?<what>[^}]*)\}[\s\S]*)?NameError: name 'trt' is not defined/,
    problem: (match) => {
      const which = group(match, 'what');
      return `the model has ${which === '' ? 'a custom operator' : `the custom operator ${which}`}: its conversion needs TensorRT's Python package`;
    },
  },
  {
    id: 'pluginsNeedTensorrt',
    lacks: true,
    pattern: /Could not find `TensorrtExecutionProvider`/,
    problem: () => 'plugins need onnxruntime-gpu and TensorRT, and this Python has neither',
  },
  {
    id: 'autotuneNeedsTensorrt',
    lacks: true,
    pattern: /Failed to initialize TensorRT benchmark/,
    problem: () => "autotune needs a GPU and TensorRT's Python package",
  },
  {
    id: 'alreadyQuantized',
    reason: 'modelInvalid',
    pattern: /INVALID_GRAPH[^\n]*Type 'tensor\(float8e4m3fn\)'/,
    problem: (_, { model, precision }) =>
      `${model} is quantized already: make ${precision} from the model before that, or name it as it is (precisions: {fp8: {onnx: FILE}})`,
  },
  {
    id: 'outOfMemory',
    reason: 'outOfMemory',
    pattern: /MemoryError|bad_alloc|Failed to allocate memory/,
    problem: () => 'memory ran out: smaller calibration.shapes take less',
  },
];
