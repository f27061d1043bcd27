import type { Precision, Shapes } from '../../records/cell.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { calibrationShapes, type Conversion } from '../../records/conversion.ts';
import type { PlannedCalibration, PlannedVariant } from '../../records/plan.ts';

/** Fixed names in the private folder, so that no user names or paths reach the command line. */
export const BASE_FILE = 'model.onnx';
export const VARIANT_FILE = 'variant.onnx';

interface WantedVariant extends Pick<PlannedVariant, 'label' | 'onnxPath' | 'precision'> {
  readonly options: Conversion;
  /** Shapes of one calibration step by input; empty for a model with static shapes. */
  readonly shapes: Shapes;
}

/** Plans a variant with its exact command line. The same request gives the same plan. */
export function planVariant(wanted: WantedVariant): PlannedVariant {
  const { label, onnxPath, options, precision } = wanted;
  const { excludeOpTypes = [], opTypes = [], timeoutS = 3600, via: by } = options;
  const calibration = plannedCalibration(wanted);
  const [tool, flagsOf] =
    by === 'autocast' ? (['autocast', autocastFlags] as const) : (['quantization', quantizeFlags] as const);
  const args = [
    '-m',
    `modelopt.onnx.${tool}`,
    `--onnx_path=${BASE_FILE}`,
    ...flagsOf(precision, options, calibration),
    ...stated('--opset', options.opset),
    `--output_path=${VARIANT_FILE}`,
  ];
  return {
    variantRef: hashOf({ onnxPath, args, calibration }),
    label,
    by,
    precision,
    onnxPath,
    opTypes: [...opTypes, ...excludeOpTypes],
    calibration,
    args,
    timeoutS,
  };
}

export function calibrationFile(calibration: PlannedCalibration): string {
  const isNpy = calibration.kind === 'file' && calibration.path.endsWith('.npy');
  return isNpy ? 'calibration.npy' : 'calibration.npz';
}

function plannedCalibration({ precision, options, shapes }: WantedVariant): PlannedCalibration | null {
  const { data, method, samples = 8, seed = 1 } = options.calibration ?? {};
  const all = { ...shapes, ...calibrationShapes(options) };
  if (data !== undefined) return { kind: 'file', path: data, shapes: all };
  // AutoCast checks ranges, which are rarely near a limit, so one small step is enough.
  if (options.via === 'autocast') return { kind: 'random', seed, samples: 1, shapes: all };
  // The method `rtn_dq` uses only weights.
  if (precision === 'int4' && method === 'rtn_dq') return null;
  // The random data of ModelOpt differ each time, so bench makes its own.
  return { kind: 'random', seed, samples, shapes: all };
}

function autocastFlags(
  precision: Precision,
  { exclude, excludeOpTypes, keepIoTypes = true }: Conversion,
  calibration: PlannedCalibration | null,
): string[] {
  return [
    `--low_precision_type=${precision}`,
    ...(keepIoTypes ? ['--keep_io_types'] : []),
    ...list('--nodes_to_exclude', exclude),
    ...list('--op_types_to_exclude', excludeOpTypes),
    ...stated('--calibration_data', calibration && calibrationFile(calibration)),
  ];
}

function quantizeFlags(precision: Precision, options: Conversion, calibration: PlannedCalibration | null): string[] {
  const shapes = Object.entries(calibration?.shapes ?? {}).flatMap(([input, shape]) =>
    shape.length === 0 ? [] : [`${input}:${shape.join('x')}`],
  );
  return [
    `--quantize_mode=${precision}`,
    ...stated('--calibration_method', options.calibration?.method),
    ...stated('--calibration_data_path', calibration && calibrationFile(calibration)),
    ...stated('--calibration_shapes', shapes.join(',') || null),
    // By default ModelOpt uses other providers in addition to the CPU. The CPU alone gives the same bytes on every
    // machine.
    '--calibration_eps=cpu',
    ...stated('--high_precision_dtype', options.highPrecision),
    ...list('--op_types_to_quantize', options.opTypes),
    ...list('--op_types_to_exclude', options.excludeOpTypes),
    ...list('--nodes_to_exclude', options.exclude),
    ...(options.quantizeAttention === false ? ['--disable_mha_qdq'] : []),
    ...(options.dqOnly === true ? ['--dq_only'] : []),
    ...(options.keepIoTypes === false ? ['--direct_io_types'] : []),
  ];
}

function stated(option: string, value: string | number | null | undefined): string[] {
  return value === null || value === undefined ? [] : [`${option}=${value}`];
}

function list(option: string, names: readonly string[] = []): string[] {
  return names.length === 0 ? [] : [option, ...names];
}
