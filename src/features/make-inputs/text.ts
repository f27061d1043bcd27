import { printable } from '../../text/printable.ts';
import { yamlText } from '../../text/yaml-text.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { renderTable } from '../../terminal/table.ts';
import type { MakeInputsOutput } from './output.ts';

export function makeInputsText(made: MakeInputsOutput, look: Look): string[] {
  const { folder, inputs, model } = made;
  const paths = inputs.map(({ file, name }) => ({ name, path: `${folder}/${file}` }));
  const table = renderTable<MakeInputsOutput['inputs'][number]>(
    [
      { header: 'input', text: ({ name }) => printable(name), minWidth: 8 },
      { header: 'type', text: ({ elementType }) => elementType },
      { header: 'shape', text: ({ shape }) => shape.join('x') },
      { header: 'size', text: ({ bytes }) => formatBytes(bytes), align: 'right' },
      { header: 'sha256', text: ({ sha256 }) => sha256.slice(0, 12) },
    ],
    inputs,
    look,
  );
  const matrix = paths.map(({ name, path }) => `${yamlText(name)}: ${yamlText(path)}`);
  const flag = `--loadInputs=${paths.map(({ name, path }) => `${name}:${path}`).join(',')}`;
  return [
    `${count(inputs.length, 'input')} of ${printable(model)} in ${printable(folder)}/: ${recipeText(made)}`,
    '',
    ...table,
    '',
    // Whole, however long: they are there to be copied.
    look.style.accent(`in a matrix:   inputs: {${matrix.join(', ')}}`),
    look.style.accent(`with trtexec:  ${printable(shellQuote(flag))}`),
  ];
}

function recipeText({ distribution, integers, seed }: MakeInputsOutput): string {
  if (distribution === 'ones' || distribution === 'zeros') return distribution;
  const range = integers === null ? '' : `, whole numbers from ${integers[0]} to ${integers[1]}`;
  return `${distribution}, seed ${seed}${range}`;
}
