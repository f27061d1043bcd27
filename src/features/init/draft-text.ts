import type { DraftDimension, DraftModel, DraftPrecision, MatrixDraft } from './matrix-draft.ts';
import { printable } from '../../text/printable.ts';
import { yamlText } from '../../text/yaml-text.ts';

/** A draft as the file that a person goes on with: everything that was guessed says so next to it. */
export function draftText(draft: MatrixDraft): string {
  const lines = [
    `# yaml-language-server: $schema=${draft.schema}`,
    '# Written by `bench init`. What it guessed says so; change what you know better. All that may stand here: bench help matrix',
    ...draft.found.map((line) => comment(line)),
    '',
    ...(draft.trtexec === null ? [] : [`trtexec: ${yamlText(draft.trtexec)}`, '']),
    'models:',
    ...draft.models.flatMap(modelLines),
    ...draft.skipped.flatMap(({ path, problem }) => [comment(`left out: ${path}: ${problem}`, '  ')]),
    '',
    'axes:',
    '  cudaGraph: on # launch through a captured CUDA graph; [on, off] measures both',
    '  dataTransfers: off # copies of inputs and outputs are not in the timed part',
    '',
    'run:',
    '  warmUpMs: 500',
    '  durationS: 3',
    '',
    'repeats: 3 # runs of each cell; more of them see smaller changes, see `bench noise`',
    'profile: false # true: one more run of each cell with times by layer, for `bench why`',
    '',
    'gate: # what `bench check` reports',
    '  confirm: true # measure slower cells in pairs with their last good engine',
    '  # minChange: 2% # smaller changes are not reported',
    "  # limits: ['p99 <= 5 ms', { limit: 'engineMib <= 500', filter: 'batch=1' }]",
    "  # owners: [{ filter: 'model=*', owner: team-vision }] # the last entry that fits a cell holds",
  ];
  return `${lines.join('\n')}\n`;
}

function modelLines(model: DraftModel): string[] {
  const { dimensions, name, onnx, shapes, precisions, others, remarks, cudaGraph } = model;
  return [
    `  ${yamlText(name)}:`,
    ...remarks.map((line) => comment(line, '    ')),
    ...(onnx === null ? [] : [`    onnx: ${yamlText(onnx)}`]),
    ...shapeLines(shapes),
    '    precisions:',
    ...precisions.map((entry) => `      ${precisionText(entry)}`),
    ...(others.length === 0 ? [] : [comment(`would work here too: ${others.map(otherText).join('; ')}`, '      ')]),
    '    axes:',
    `      precision: [${precisions.map(({ precision }) => precision).join(', ')}]`,
    ...(cudaGraph ? [] : ['      cudaGraph: off']),
    ...dimensions.map(axisLine),
    ...(dimensions.length === 0
      ? []
      : [
          '    build: # the shapes that an engine takes; `opt` are those that it is tuned for',
          ...(['min', 'opt', 'max'] as const).map((limit) => limitLine(limit, dimensions)),
        ]),
  ];
}

function shapeLines(shapes: DraftModel['shapes']): string[] {
  if (shapes === null) return ['    shapes: static'];
  return [
    '    shapes: # a word is an axis',
    ...Object.entries(shapes).map(
      ([input, shape]) =>
        `      ${yamlText(input)}: [${shape.map((size) => (typeof size === 'number' ? size : yamlText(size))).join(', ')}]`,
    ),
  ];
}

function precisionText({ precision, source, why }: DraftPrecision): string {
  const value = source.kind === 'word' ? source.word : `{ onnx: ${yamlText(source.path)} }`;
  return `${precision}: ${value} # ${why}`;
}

function otherText({ precision, source, why }: DraftPrecision): string {
  return `${precision}: ${source.kind === 'word' ? source.word : source.path} (${why})`;
}

function axisLine({ name, values, why }: DraftDimension): string {
  const guessed = why === null ? '' : ` # guessed, ${why}`;
  return `      ${yamlText(name)}: [${values.join(', ')}]${guessed}`;
}

function limitLine(limit: 'min' | 'opt' | 'max', dimensions: readonly DraftDimension[]): string {
  const sizes = dimensions.map((dimension) => `${yamlText(dimension.name)}: ${dimension[limit]}`);
  return `      ${limit}: { ${sizes.join(', ')} }`;
}

function comment(text: string, indent = ''): string {
  return `${indent}# ${printable(text)}`;
}
