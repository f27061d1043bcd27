import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { InterruptedError, UsageError } from '../errors.ts';
import { type InputRecipe, INPUTS_MANIFEST, type MadeInput, type WantedInput } from './random-inputs.ts';
import { printable } from '../text/printable.ts';
import { sha256OfFile, writeAtomically } from '../artefacts/files.ts';
import { inputBytes } from './input-values.ts';
import { temporaryPath } from '../artefacts/layout.ts';

/** Changes when the same recipe gives other bytes. */
const RECIPE_VERSION = 1;

/**
 * Writes a raw file for each input into a folder, and how they were made. What is there already stays; a file of other
 * bytes under the same name is not touched.
 * @param model shown in the manifest
 */
export async function makeInputs(
  folder: string,
  model: string,
  inputs: readonly WantedInput[],
  recipe: InputRecipe,
  signal: AbortSignal,
): Promise<MadeInput[]> {
  await mkdir(folder, { recursive: true });
  const made: MadeInput[] = [];
  for (const input of inputs) made.push(await makeInput(folder, input, recipe, signal));
  const manifest = { schemaVersion: 1, recipeVersion: RECIPE_VERSION, model, ...recipe, inputs: made };
  await writeAtomically(join(folder, INPUTS_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  return made;
}

async function makeInput(
  folder: string,
  { elementType, name, shape }: WantedInput,
  recipe: InputRecipe,
  signal: AbortSignal,
): Promise<MadeInput> {
  const file = fileName(name, elementType);
  const path = join(folder, file);
  const temporary = temporaryPath(path);
  try {
    const written = await writeParts(temporary, inputBytes({ elementType, name, shape }, recipe), signal);
    if (existsSync(path)) {
      const { sha256 } = await sha256OfFile(path);
      if (sha256 !== written.sha256) {
        throw new UsageError(
          `${printable(path)} is there with other bytes, and a matrix may use it: take another --output`,
        );
      }
    } else await rename(temporary, path);
    return { name, elementType, shape, file, ...written };
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeParts(path: string, parts: Iterable<Buffer>, signal: AbortSignal) {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'w');
  try {
    for (const part of parts) {
      if (signal.aborted) throw new InterruptedError('interrupted');
      hash.update(part);
      bytes += part.length;
      await file.writeFile(part);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** trtexec takes no path with a comma or a colon in it; names that become alike are told apart by a hash. */
function fileName(name: string, elementType: string): string {
  const plain = name.replaceAll(/[^\w.-]/g, '_').replace(/^\.+/, '_');
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  const short = plain.length > 100 ? plain.slice(0, 100) : plain;
  return `${short === name ? name : `${short}-${hash}`}.${elementType}.bin`;
}
