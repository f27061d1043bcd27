import { variablesOf, type KeyedCell } from '../../records/cell.ts';
import { actsInBuild, flagProblem } from '../../matrix/points/flags.ts';
import { yamlText } from '../../text/yaml-text.ts';
import { findFlag, flagsOf } from '../../trtexec/flags/flag-table.ts';
import type { Reproduction } from './reproduction.ts';

export const MODEL_FILE = 'model.onnx';

export interface CutInput {
  readonly name: string;
  /** As ONNX names it: `float16`. */
  readonly type: string;
  readonly isDynamic: boolean;
  /** Of the run; then, where they are known, of min, opt and max. */
  readonly shapes: readonly (readonly number[])[];
}

export interface Cut {
  readonly cell: KeyedCell;
  readonly inputs: readonly CutInput[];
  readonly title: string;
}

const LIMITS = ['run', 'min', 'opt', 'max'] as const;

/** A matrix that builds and profiles the cut as one side did. */
export function reducedMatrix(side: Reproduction, { cell, inputs, title }: Cut): string {
  const { axisFlags, cudaGraph, dataTransfers, precisionVia, spinWait, streams } = cell;
  const precision = precisionOf(cell, inputs);
  const isDynamic = inputs.some((input) => input.isDynamic);
  const [first] = inputs;
  const limits = isDynamic && (first?.shapes.length ?? 0) > 1 ? LIMITS.slice(1) : [];
  const flags = [...buildFlags(side)].filter(([flag]) => !(flag in axisFlags));
  const axes: readonly (readonly [name: string, value: string | null])[] = [
    ['precision', precision],
    ['cudaGraph', switchText(cudaGraph)],
    ['dataTransfers', switchText(dataTransfers)],
    ['spinWait', switchText(spinWait)],
    ['streams', String(streams)],
    ...Object.entries(axisFlags).flatMap(([flag, value]): [string, string][] =>
      flagProblem(flag, value === '' ? true : value, 'axis') === null ? [[JSON.stringify(flag), valueText(value)]] : [],
    ),
  ];
  const variables = Object.entries(variablesOf(axisFlags));
  const lines = [
    '# Written by `bench repro --reduce`',
    `name: ${yamlText(title)}`,
    'models:',
    '  reduced:',
    ...(precisionVia === 'flag' ? [`    onnx: ${MODEL_FILE}`] : []),
    `    precisions: { ${precision}: ${precisionVia === 'flag' ? 'flag' : `{ onnx: ${MODEL_FILE} }`} }`,
    ...(isDynamic ? ['    shapes:', ...inputs.map((input) => shapeLine(input, 0, '      '))] : ['    shapes: static']),
    ...(limits.length === 0 ? [] : ['    build:']),
    ...limits.flatMap((limit) => [
      `      ${limit}:`,
      ...inputs.map((input) => shapeLine(input, LIMITS.indexOf(limit), '        ')),
    ]),
    'axes:',
    ...axes.flatMap(([name, value]) => (value === null ? [] : [`  ${name}: ${value}`])),
    ...(variables.length === 0
      ? []
      : ['  env:', ...variables.map(([name, value]) => `    ${name}: ${yamlText(value)}`)]),
    'build:',
    '  timingCache: false # each build chooses anew',
    ...(flags.length === 0
      ? []
      : ['  flags:', ...flags.map(([flag, value]) => `    ${yamlText(flag)}: ${valueText(value)}`)]),
    'repeats: 5',
    'profile: true',
  ];
  return `${lines.join('\n')}\n`;
}

/** Written by the plan, or by `trtexecLine` itself. */
const REPLACED = new Set(
  '--onnx --saveEngine --loadEngine --timingCacheFile --skipInference --buildOnly --verbose --minShapes --optShapes --maxShapes --shapes --dumpProfile --separateProfileRun --profilingVerbosity --loadInputs'.split(
    ' ',
  ),
);

/** One command that builds and profiles the cut as one side did, without bench. */
export function trtexecLine({ build, run }: Reproduction, { inputs }: Cut): string[] {
  const flags = [...flagsOf([...(build?.argv ?? []), ...(run?.argv ?? [])])].filter(
    ([flag]) => !REPLACED.has(flag) && !flag.startsWith('--export') && findFlag(flag)?.isPath === false,
  );
  const shapes = (place: number): string =>
    inputs.map(({ name, shapes: all }) => `${name}:${all[place]?.join('x')}`).join(',');
  const places = inputs.some(({ isDynamic }) => isDynamic)
    ? [1, 2, 3, 0].filter((place) => inputs[0]?.shapes[place])
    : [];
  return [
    'trtexec',
    `--onnx=reduced/${MODEL_FILE}`,
    ...places.map((place) => `--${['shapes', 'minShapes', 'optShapes', 'maxShapes'][place]}=${shapes(place)}`),
    ...flags.map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`)),
    '--profilingVerbosity=detailed',
    '--dumpProfile',
    '--separateProfileRun',
  ];
}

/** Flags of the build that a matrix may state, without those that name files. */
function buildFlags({ build }: Reproduction): Map<string, string> {
  const flags = [...flagsOf(build?.argv ?? [])].filter(
    ([flag, value]) =>
      actsInBuild(flag) &&
      findFlag(flag)?.isPath === false &&
      flagProblem(flag, value === '' ? true : value, 'build') === null,
  );
  return new Map(flags);
}

/** An imported run of a loaded engine does not state it: then by what goes into the cut. */
function precisionOf({ precision }: KeyedCell, inputs: readonly CutInput[]): string {
  if (precision !== 'unstated') return precision;
  const types = new Set(inputs.map(({ type }) => type));
  if (types.has('float16')) return 'fp16';
  return types.has('bfloat16') ? 'bf16' : 'fp32';
}

function shapeLine({ name, shapes }: CutInput, place: number, indent: string): string {
  return `${indent}${yamlText(name)}: [${(shapes[place] ?? []).join(', ')}]`;
}

function switchText(value: boolean | null): string | null {
  return value === null ? null : value ? 'on' : 'off';
}

function valueText(value: string): string {
  return value === '' ? 'true' : yamlText(value);
}
