import { dirname, join, resolve } from 'node:path';

import { EngineCache } from '../../engines/engine-cache.ts';
import { readEngineFolder } from '../../engines/engine-folder.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import type { CellInputs } from '../../records/cell.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import type { DrawnInput, HashedFile, ReproModel } from './reproduction.ts';
import { calibrationInputs } from '../../tools/modelopt/check-base.ts';
import { NPY_TYPES } from '../../variants/npy.ts';

/** Whatever else stands in a file that somebody wrote is no hash. */
export function hashOrNull(text: string | null): string | null {
  return text !== null && /^[0-9a-f]{64}$/.test(text) ? text : null;
}

/** What a model says of itself, as far as it is here. */
export async function factsOf(path: string, cwd: string): Promise<OnnxFacts | null> {
  return readOnnxFacts(resolve(cwd, path)).catch(() => null);
}

export function modelOf(path: string, sha256: string | null, facts: OnnxFacts | null): ReproModel {
  const external =
    facts?.externalFiles
      .filter(({ problem }) => problem === null)
      .map(({ location }) => location)
      .toSorted() ?? null;
  return { path, sha256, external };
}

/** What random calibration data are drawn for; null when the model is not here, or is another one now. */
export function drawnInputs(variant: PlannedVariant, facts: OnnxFacts | null): readonly DrawnInput[] | null {
  if (facts === null || variant.calibration?.kind !== 'random') return null;
  const inputs = calibrationInputs(facts, variant, 'model');
  if ('problem' in inputs) return null;
  return inputs.map(({ elementType, name, shape }) => ({ name, descr: NPY_TYPES[elementType] ?? '', shape }));
}

/** The files of `--loadInputs`, with their hashes by the names of the inputs. */
export function inputFiles(inputs: CellInputs | null, argv: readonly string[]): HashedFile[] {
  const option = '--loadInputs=';
  const stated = argv.find((argument) => argument.startsWith(option))?.slice(option.length);
  const hashes = inputs?.kind === 'files' ? inputs.sha256ByInput : {};
  return (stated ?? '').split(',').flatMap((part) => {
    const name = Object.keys(hashes).find((input) => part.startsWith(`${input}:`));
    const colon = name === undefined ? part.indexOf(':') : name.length;
    if (colon <= 0) return [];
    const sha256 = name === undefined ? null : hashOrNull(hashes[name] ?? null);
    return [{ path: part.slice(colon + 1), sha256 }];
  });
}

/** Where the cache beside a store has an engine with these bytes; null when it has not. */
export async function cachedEngine(storePath: string, sha256: string | null): Promise<string | null> {
  if (sha256 === null) return null;
  const cache = new EngineCache(join(dirname(storePath), 'engines'));
  const { engines } = await readEngineFolder(cache, { hashes: false });
  const found = engines.find((engine) => engine.sha256 === sha256 && engine.state === 'unchecked');
  return found?.path ?? null;
}
