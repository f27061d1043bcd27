import type { Precision, Shapes } from '../../records/cell.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { ConversionOptions, Converter } from '../../records/conversion.ts';
import type { PlannedCalibration, PlannedVariant } from '../../records/plan.ts';

/** Fixed names in the private folder, so that no user names or paths reach the command line. */
export const BASE_FILE = 'model.onnx';
export const VARIANT_FILE = 'variant.onnx';

export interface WantedVariant {
  readonly label: string;
  readonly by: Converter;
  readonly precision: Precision;
  readonly onnxPath: string;
  readonly options: ConversionOptions;
  /** Shapes of one calibration step by input; empty for a model with static shapes. */
  readonly shapes: Shapes;
}

/** Plans a variant with its exact command line. The same request gives the same plan. */
export function planVariant(wanted: WantedVariant): PlannedVariant {
  const { by, label, onnxPath, options, precision } = wanted;
  const calibration = plannedCalibration(wanted);
  const args =
    by === 'autocast' ? autocastArgs(precision, options, calibration) : quantizeArgs(precision, options, calibration);
  return {
    variantRef: hashOf({ onnxPath, args, calibration }),
    label,
    by,
    precision,
    onnxPath,
    opTypes: [...options.opTypes, ...options.excludeOpTypes],
    calibration,
    args,
    timeoutS: options.timeoutS,
  };
}

export function calibrationFile(calibration: PlannedCalibration): string {
  const isNpy = calibration.kind === 'file' && calibration.path.endsWith('.npy');
  return isNpy ? 'calibration.npy' : 'calibration.npz';
}

function plannedCalibration({
  by,
  precision,
  options: { calibration },
  shapes,
}: WantedVariant): PlannedCalibration | null {
  const { data, samples, seed } = calibration;
  const all = { ...shapes, ...calibration.shapes };
  if (data !== null) return { kind: 'file', path: data, shapes: all };
  // AutoCast checks ranges, which are rarely near a limit, so one small step is enough.
  if (by === 'autocast') return { kind: 'random', seed, samples: 1, shapes: all };
  // The method `rtn_dq` uses only weights.
  if (precision === 'int4' && calibration.method === 'rtn_dq') return null;
  // The random data of ModelOpt differ each time, so bench makes its own.
  return { kind: 'random', seed, samples, shapes: all };
}

function autocastArgs(
  precision: Precision,
  { exclude, excludeOpTypes, keepIoTypes, opset }: ConversionOptions,
  calibration: PlannedCalibration | null,
): string[] {
  return [
    '-m',
    'modelopt.onnx.autocast',
    `--onnx_path=${BASE_FILE}`,
    `--low_precision_type=${precision}`,
    ...(keepIoTypes ? ['--keep_io_types'] : []),
    ...list('--nodes_to_exclude', exclude),
    ...list('--op_types_to_exclude', excludeOpTypes),
    ...stated('--calibration_data', calibration && calibrationFile(calibration)),
    ...stated('--opset', opset),
    `--output_path=${VARIANT_FILE}`,
  ];
}

function quantizeArgs(
  precision: Precision,
  options: ConversionOptions,
  calibration: PlannedCalibration | null,
): string[] {
  const shapes = Object.entries(calibration?.shapes ?? {}).flatMap(([input, shape]) =>
    shape.length === 0 ? [] : [`${input}:${shape.join('x')}`],
  );
  return [
    '-m',
    'modelopt.onnx.quantization',
    `--onnx_path=${BASE_FILE}`,
    `--quantize_mode=${precision}`,
    ...stated('--calibration_method', options.calibration.method),
    ...stated('--calibration_data_path', calibration && calibrationFile(calibration)),
    ...stated('--calibration_shapes', shapes.join(',') || null),
    // By default ModelOpt uses other providers in addition to the CPU. The CPU alone gives the same bytes on every
    // machine.
    '--calibration_eps=cpu',
    ...stated('--high_precision_dtype', options.highPrecision),
    ...list('--op_types_to_quantize', options.opTypes),
    ...list('--op_types_to_exclude', options.excludeOpTypes),
    ...list('--nodes_to_exclude', options.exclude),
    ...(options.quantizeAttention ? [] : ['--disable_mha_qdq']),
    ...(options.dqOnly ? ['--dq_only'] : []),
    ...(options.keepIoTypes ? [] : ['--direct_io_types']),
    ...stated('--opset', options.opset),
    `--output_path=${VARIANT_FILE}`,
  ];
}

function stated(option: string, value: string | number | null): string[] {
  return value === null ? [] : [`${option}=${value}`];
}

function list(option: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [option, ...names];
}
