import { printable } from '../../text/printable.ts';
import { yamlText } from '../../text/yaml-text.ts';
import type { DraftModel, SkippedFile } from './draft.ts';

const REST = `
axes:
  cudaGraph: on # launch through a captured CUDA graph; [on, off] measures both
  dataTransfers: off # copies of inputs and outputs are not in the timed part

run:
  warmUpMs: 500
  durationS: 3

repeats: 3 # runs of each cell; more of them see smaller changes, see \`bench noise\`
profile: false # true: one more run of each cell with times by layer, for \`bench why\`

gate: # what \`bench check\` reports
  confirm: true # measure slower cells in pairs with their last good engine
  # minChange: 2% # smaller changes are not reported
  # limits: ['p99 <= 5 ms', { limit: 'engineMib <= 500', filter: 'batch=1' }]
  # owners: [{ filter: 'model=*', owner: team-vision }] # the last entry that fits a cell holds
`;

/**
 * A draft as the file that a person goes on with: everything that was guessed says so next to it.
 * @param trtexec null when it is found by itself
 */
export function draftText(
  schema: string,
  found: readonly string[],
  trtexec: string | null,
  models: readonly DraftModel[],
  skipped: readonly SkippedFile[],
): string {
  const lines = [
    `# yaml-language-server: $schema=./${schema}`,
    '# Written by `bench init`. What it guessed says so; change what you know better. All that may stand here: bench help matrix',
    ...found.map((line) => comment(line)),
    '',
    ...(trtexec === null ? [] : [`trtexec: ${yamlText(trtexec)}`, '']),
    'models:',
    ...models.flatMap(modelLines),
    ...skipped.map(({ path, problem }) => comment(`left out: ${path}: ${problem}`, '  ')),
  ];
  return `${lines.join('\n')}\n${REST}`;
}

function modelLines(model: DraftModel): string[] {
  const { cudaGraph, dimensions, name, onnx, others, precisions, remarks, shapes } = model;
  const limits = (['min', 'opt', 'max'] as const).map((limit) => {
    const sizes = dimensions.map((dimension) => `${yamlText(dimension.name)}: ${dimension[limit]}`);
    return `      ${limit}: { ${sizes.join(', ')} }`;
  });
  const also = others.map(({ precision, source, why }) => `${precision}: ${source} (${why})`).join('; ');
  return [
    `  ${yamlText(name)}:`,
    ...remarks.map((line) => comment(line, '    ')),
    ...(onnx === null ? [] : [`    onnx: ${yamlText(onnx)}`]),
    shapes === null ? '    shapes: static' : '    shapes: # a word is an axis',
    ...Object.entries(shapes ?? {}).map(([input, shape]) => {
      const sizes = shape.map((size) => (typeof size === 'number' ? size : yamlText(size)));
      return `      ${yamlText(input)}: [${sizes.join(', ')}]`;
    }),
    '    precisions:',
    ...precisions.map(({ precision, source, why }) => {
      const isWord = ['onnx', 'flag', 'autocast', 'modelopt'].includes(source);
      return `      ${precision}: ${isWord ? source : `{ onnx: ${yamlText(source)} }`} # ${why}`;
    }),
    ...(also === '' ? [] : [comment(`would work here too: ${also}`, '      ')]),
    '    axes:',
    `      precision: [${precisions.map(({ precision }) => precision).join(', ')}]`,
    ...(cudaGraph ? [] : ['      cudaGraph: off']),
    ...dimensions.map((axis) => `      ${yamlText(axis.name)}: [${axis.values.join(', ')}] # guessed, ${axis.why}`),
    ...(dimensions.length === 0
      ? []
      : ['    build: # the shapes that an engine takes; `opt` are those that it is tuned for', ...limits]),
  ];
}

function comment(text: string, indent = ''): string {
  return `${indent}# ${printable(text)}`;
}
