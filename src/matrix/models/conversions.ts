import {
  CONVERSION_DEFAULTS,
  CONVERTED_PRECISIONS,
  type ConversionOptions,
  type Converter,
  METHODS_BY_PRECISION,
} from '../../variants/conversion.ts';
import type { Precision, Shapes } from '../../records/cell.ts';
import { defined } from '../../text/unknown-values.ts';
import type { ConversionFile } from '../schema/conversion-schema.ts';

/** Settings of ModelOpt alone, which do not apply to a program. */
const ONLY_MODELOPT = ['highPrecision', 'opTypes', 'dqOnly', 'quantizeAttention'] as const;

/**
 * Complete options of a conversion, or a problem.
 * @param resolvePath makes a path absolute
 */
export function readConversion(
  precision: Precision,
  stated: ConversionFile,
  resolvePath: (path: string) => string,
): ConversionOptions | { readonly problem: string } {
  const problem = conversionProblem(precision, stated);
  if (problem !== null) return { problem };
  const shapes = readShapes(stated);
  if ('problem' in shapes) return shapes;
  const { via: _via, calibration = {}, ...options } = defined(stated);
  const data = calibration.data === undefined ? null : resolvePath(calibration.data);
  return {
    ...CONVERSION_DEFAULTS,
    ...options,
    calibration: { ...CONVERSION_DEFAULTS.calibration, ...defined(calibration), ...shapes, data },
  };
}

function conversionProblem(precision: Precision, stated: ConversionFile): string | null {
  const { via, calibration } = stated;
  if (!canMake(via, precision)) {
    return `${precision} is not made by ${via}: autocast makes ${CONVERTED_PRECISIONS.autocast.join(', ')}, modelopt makes ${CONVERTED_PRECISIONS.modelopt.join(', ')}`;
  }
  if (via === 'autocast') {
    const slip = ONLY_MODELOPT.find((option) => stated[option] !== undefined);
    if (slip !== undefined) return `${precision} by autocast: ${slip} is an option of modelopt`;
    if (calibration?.method !== undefined) {
      return `${precision} by autocast: it has no calibration method`;
    }
    return null;
  }
  const methods = METHODS_BY_PRECISION[precision] ?? [];
  const method = calibration?.method;
  if (method !== undefined && !methods.includes(method)) {
    return `${precision}: the calibration method ${method} is for another precision; ${precision} has ${methods.join(' and ')}`;
  }
  if (precision === 'int4' && stated.quantizeAttention !== undefined) {
    return 'int4 quantizes weights alone: quantizeAttention does nothing';
  }
  return calibration?.data !== undefined && (calibration.seed !== undefined || calibration.samples !== undefined)
    ? `${precision}: seed and samples are for random data, and calibration.data is given`
    : null;
}

function canMake(via: Converter, precision: Precision): boolean {
  const makes: readonly Precision[] = CONVERTED_PRECISIONS[via];
  return makes.includes(precision);
}

function readShapes(stated: ConversionFile): { shapes: Shapes } | { problem: string } {
  const shapes: Record<string, readonly number[]> = {};
  for (const [input, shape] of Object.entries(stated.calibration?.shapes ?? {})) {
    const dimensions = typeof shape === 'string' ? parseDimensions(shape) : shape;
    if (dimensions === null) {
      return { problem: `calibration.shapes: "${String(shape)}" is no shape; write ${input}: 8x3x224x224` };
    }
    shapes[input] = dimensions;
  }
  return { shapes };
}

function parseDimensions(text: string): number[] | null {
  if (!/^[1-9]\d*(?:x[1-9]\d*)*$/.test(text.trim())) return null;
  return text.trim().split('x').map(Number);
}
