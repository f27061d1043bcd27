import { basename, isAbsolute, relative, resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite } from '../../cli/output-file.ts';
import { BenchError, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { wantedInputs } from '../../matrix/models/wanted-inputs.ts';
import type { Shapes } from '../../records/cell.ts';
import { onnxProblem } from '../../selection/reading-problem.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { yamlText } from '../../text/yaml-text.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import {
  ELEMENT_CODINGS,
  type InputRecipe,
  makeInputs as writeInputs,
  type WantedInput,
} from '../../variants/make-inputs.ts';
import type { MakeInputsOptions } from './command.ts';
import type { MakeInputsOutput } from './output.ts';

export async function makeInputs(model: string, options: MakeInputsOptions, io: Io): Promise<ExitCode> {
  const { dist: distribution, integers = null, seed, shapes = {} } = options;
  const inputs = await inputsOf(model, shapes, io);
  const recipe: InputRecipe = { distribution, seed, integers };
  refuseRange(inputs, recipe);
  const stated = options.output ?? `${basename(model).replace(/\.onnx$/, '')}-inputs`;
  const folder = resolve(io.cwd, stated);
  if (/[,:]/.test(folder)) {
    throw new UsageError(`${printable(folder)}: trtexec does not support a path with , or :: take another --output`);
  }
  const made = await writeInputs(folder, basename(model), inputs, recipe, io.signal).catch((error: unknown) => {
    if (error instanceof BenchError) throw error;
    throw cannotWrite(stated, error);
  });
  const shown = isAbsolute(stated) ? folder : relative(io.cwd, folder) || '.';
  const output: MakeInputsOutput = { schemaVersion: 1, model, folder: shown, ...recipe, inputs: made };
  return printResult(io, options, output, makeInputsText);
}

async function inputsOf(model: string, shapes: Shapes, io: Io): Promise<readonly WantedInput[]> {
  const facts = await readOnnxFacts(resolve(io.cwd, model)).catch((error: unknown) => {
    throw new UsageError(`${printable(model)}: ${onnxProblem(error)}`, { cause: error });
  });
  const wanted = wantedInputs(facts.inputs, shapes, Object.keys(ELEMENT_CODINGS));
  if (typeof wanted === 'string') throw new UsageError(`${printable(model)}: ${wanted}`);
  const named = wanted.find(({ name }) => name.includes(','));
  if (named !== undefined) {
    throw new UsageError(
      `${printable(model)}: trtexec does not support an input with a comma in its name (${printable(named.name)})`,
    );
  }
  return wanted;
}

/** Rejects ranges beyond a type, because such a number would wrap in the file. */
function refuseRange(inputs: readonly WantedInput[], { distribution, integers }: InputRecipe): void {
  if (integers === null) return;
  if (distribution === 'ones' || distribution === 'zeros') {
    throw new UsageError(`--integers does not apply to --dist ${distribution}`);
  }
  for (const { elementType, name } of inputs) {
    const coding = ELEMENT_CODINGS[elementType];
    if (coding?.kind !== 'integer' || elementType === 'bool') continue;
    const least = coding.isSigned ? -(2 ** (coding.bits - 1)) : 0;
    const most = least + 2 ** coding.bits - 1;
    if (integers[0] < least || integers[1] > most) {
      throw new UsageError(
        `--integers ${integers.join('..')}: input ${printable(name)} is ${elementType}, from ${least} to ${most}`,
      );
    }
  }
}

function makeInputsText(made: MakeInputsOutput, look: Look): string[] {
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
    // Never truncate the line, so that it can be copied.
    look.style.accent(`in a matrix:   inputs: {${matrix.join(', ')}}`),
    look.style.accent(`with trtexec:  ${printable(shellQuote(flag))}`),
  ];
}

function recipeText({ distribution, integers, seed }: MakeInputsOutput): string {
  if (distribution === 'ones' || distribution === 'zeros') return distribution;
  const range = integers === null ? '' : `, whole numbers from ${integers[0]} to ${integers[1]}`;
  return `${distribution}, seed ${seed}${range}`;
}
