import type { OnnxFacts } from '../onnx/facts.ts';
import { fixedSize, shapeText } from '../onnx/facts.ts';
import type { Shapes } from '../../records/cell.ts';
import { didYouMean } from '../../text/nearest.ts';
import { NPY_TYPES } from '../../variants/npy.ts';

/** An array of the calibration data, as far as it is known without its values. */
export interface CalibrationArray {
  /** Empty for the only array of an npy file. */
  readonly name: string;
  readonly descr: string;
  readonly shape: readonly number[];
  readonly notFinite: number;
}

/**
 * The first thing that is wrong with the user's calibration data, in words; null when nothing is. ModelOpt would say it
 * with a traceback, or not at all.
 * @param steps the shape of one calibration step, by input, where it is known
 */
export function checkCalibration(
  arrays: readonly CalibrationArray[],
  { inputs }: Pick<OnnxFacts, 'inputs'>,
  steps: Shapes,
): string | null {
  const [only] = arrays;
  const named =
    arrays.length === 1 && only?.name === '' && inputs.length === 1
      ? [{ ...only, name: inputs[0]?.name ?? '' }]
      : arrays;
  if (named.some(({ name }) => name === '')) {
    return `an npy file holds one array, and the model has ${inputs.length} inputs: save an npz with one array for each`;
  }
  const names = inputs.map(({ name }) => name);
  const extra = named.find(({ name }) => !names.includes(name));
  if (extra !== undefined) {
    return `the model has no input "${extra.name}" (it has ${names.join(', ')})${didYouMean(extra.name, names)}`;
  }
  for (const input of inputs) {
    const array = named.find(({ name }) => name === input.name);
    if (array === undefined) return `there is no array for the input "${input.name}"`;
    const problem =
      typeProblem(array, input.elementType) ??
      shapeProblem(array, input.shape) ??
      stepProblem(array, steps[input.name] ?? null);
    if (problem !== null) return `${input.name}: ${problem}`;
  }
  const samples = new Set(named.map(({ shape }) => shape[0]));
  return samples.size > 1
    ? `the inputs have different numbers of samples: ${named.map(({ name, shape }) => `${name} ${shape[0]}`).join(', ')}`
    : null;
}

function typeProblem({ descr, notFinite }: CalibrationArray, elementType: string): string | null {
  if (descr.includes('O')) return 'it holds Python objects: save plain arrays of numbers';
  const wanted = NPY_TYPES[elementType];
  if (wanted === undefined) return `the model takes ${elementType}, which numpy does not have`;
  if (descr !== wanted) {
    const is = Object.entries(NPY_TYPES).find(([, name]) => name === descr)?.[0] ?? descr;
    return `it is ${is}, and the model takes ${elementType}: save it with .astype("${elementType}")`;
  }
  return notFinite > 0
    ? `${notFinite} ${notFinite === 1 ? 'value is' : 'values are'} not finite (NaN or infinity)`
    : null;
}

/** The first dimension counts samples, whatever the model says of it. */
function shapeProblem({ shape }: CalibrationArray, wanted: CalibrationWanted): string | null {
  if (wanted === null) return null;
  const fits =
    shape.length === wanted.length &&
    wanted.every((dimension, place) => {
      const size = fixedSize(dimension);
      return place === 0 || size === null || size === shape[place];
    });
  return fits ? null : `it is ${shapeText(shape)}, and the model takes ${shapeText(wanted)}`;
}

type CalibrationWanted = OnnxFacts['inputs'][number]['shape'];

function stepProblem({ shape }: CalibrationArray, step: readonly number[] | null): string | null {
  const samples = shape[0] ?? 0;
  if (samples === 0) return 'it has no samples';
  if (step === null) return null;
  const [batch = 1] = step;
  if (samples < batch) {
    return `${samples} samples are fewer than one step of ${batch}: give at least ${batch}, or smaller calibration shapes`;
  }
  const differs = step.some((size, place) => place > 0 && size !== shape[place]);
  return differs ? `it is ${shapeText(shape)}, and one step is ${shapeText(step)}` : null;
}
