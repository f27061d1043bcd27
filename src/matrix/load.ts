import { dirname, isAbsolute, resolve } from 'node:path';

import { MatrixError, type Mistake, UsageError } from '../errors.ts';
import type { Driver } from '../harnesses/driver.ts';
import { outsideDriver, plugInProblem } from '../harnesses/plug-in.ts';
import { addDriver } from '../harnesses/registry.ts';
import { printable } from '../text/printable.ts';
import type { Matrix } from './matrix.ts';
import { expandMatrix, type NamedFiles } from './expand.ts';
import { executedCode } from './executed-code.ts';
import { MistakeList, sortMistakes, mergeNodes, type SourceNode } from './yaml/source-node.ts';
import { matrixSchema, matrixSchemaWith } from './schema/schema.ts';
import { readSchema } from './yaml/schema-mistakes.ts';
import { readYaml } from './yaml/yaml-source.ts';

export interface MatrixFiles extends NamedFiles {
  /** What relative paths of matrix files are relative to. */
  readonly cwd: string;
  /**
   * Null when it is not there.
   * @throws UsageError for no text file, or one too large for a matrix; without the path
   */
  readonly readText: (path: string) => string | null;
  /**
   * The default export of a plug-in; without it there are none.
   * @param from the absolute path of the file that names it
   */
  readonly loadModule?: (stated: string, from: string) => unknown;
}

const MAX_EXTENDS = 10;
const MOST_TYPOS = 3;
export const NO_MATRIX = 'is this a matrix? For a model: `bench init FILE`; for a log: `bench parse FILE`';
/** The first line that is no comment, where it is a key. */
const BEGINS_WITH_KEY = /^(?:\s*(?:#.*|---.*)?\n)*(?:\{|["']?\w+["']?\s*:)/;
const KNOWN_KEY = new RegExp(`^(${Object.keys(matrixSchema.shape).join('|')})\\s*:`, 'm');

/**
 * Reads, checks and expands a matrix.
 * @param shownPath as the user wrote it, for messages
 * @throws UsageError for a file that is not there, or no matrix
 * @throws MatrixError with every mistake, or everything that an untrusted matrix would execute
 */
export function loadMatrix(
  shownPath: string,
  files: MatrixFiles,
  { isUntrusted }: { readonly isUntrusted: boolean } = { isUntrusted: false },
): Matrix {
  const mistakes: Mistake[] = [];
  const root = readLayers(shownPath, files, mistakes, []);
  if (root === null) throw new MatrixError(sortMistakes(mistakes));
  const executes = executedCode(root);
  if (isUntrusted && executes.length > 0) {
    const refused = executes.map(({ at, problem }) => ({ at, problem: `${problem}: refused by --untrusted` }));
    throw new MatrixError(sortMistakes(refused));
  }
  const drivers = loadDrivers(root, files, mistakes);
  if (mistakes.length > 0) throw new MatrixError(sortMistakes(mistakes));
  const { file, source, mistakes: formal, misspelt } = readSchema(root, matrixSchemaWith(drivers));
  mistakes.push(...formal);
  if (file === null) throw new MatrixError(sortMistakes(mistakes));
  const list = new MistakeList(source, files.cwd);
  const matrix = expandMatrix(file, shownPath, files, list);
  mistakes.push(...list.apartFrom(misspelt));
  if (mistakes.length > 0) throw new MatrixError(sortMistakes(mistakes));
  if (matrix.cells.length === 0) {
    throw new MatrixError([{ at: root.at, problem: 'the matrix has no cells: it names no model' }]);
  }
  return { ...matrix, executes };
}

/** Registers the drivers of plug-ins; what is no name of one is left to the schema. */
function loadDrivers(root: SourceNode, { cwd, loadModule }: MatrixFiles, mistakes: Mistake[]): Driver[] {
  const stated = root.kind === 'map' ? root.entries.get('drivers')?.node : undefined;
  if (stated === undefined || loadModule === undefined) return [];
  return (stated.kind === 'list' ? stated.items : [stated]).flatMap((node) => {
    if (node.kind !== 'scalar' || typeof node.value !== 'string') return [];
    try {
      const driver = outsideDriver(loadModule(node.value, resolve(cwd, node.at.file)));
      addDriver(driver);
      return [driver];
    } catch (error) {
      mistakes.push({ at: node.at, problem: printable(`drivers: ${node.value}: ${plugInProblem(error)}`) });
      return [];
    }
  });
}

function readLayers(
  path: string,
  files: MatrixFiles,
  mistakes: Mistake[],
  above: readonly { readonly path: string; readonly at: Mistake['at'] }[],
): SourceNode | null {
  const from = above.at(-1);
  const refuse = (problem: string): null => {
    if (from === undefined) throw new UsageError(`${path}: ${problem}`);
    mistakes.push({ at: from.at, problem: `extends: ${path}: ${problem}` });
    return null;
  };
  let text: string | null;
  try {
    text = files.readText(path);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return refuse(error.message);
  }
  if (text === null) return refuse('no such file');
  const { root, mistakes: syntax } = readYaml(path, text);
  if (syntax.length > 0) {
    if (!BEGINS_WITH_KEY.test(text) || !KNOWN_KEY.test(text)) return refuse(NO_MATRIX);
    mistakes.push(...syntax);
    return null;
  }
  if (root.kind !== 'map') return refuse(`a matrix is a map that begins with models: or name: (${NO_MATRIX})`);
  const keys = [...root.entries.keys()];
  if (keys.length > MOST_TYPOS && !keys.some((key) => key in matrixSchema.shape)) return refuse(NO_MATRIX);
  const stated = root.entries.get('extends')?.node;
  if (stated?.kind !== 'scalar' || typeof stated.value !== 'string') return root;
  const below = resolve(files.cwd, dirname(path), stated.value);
  const chain = [...above, { path, at: stated.at }];
  if (chain.length > MAX_EXTENDS || chain.some((layer) => resolve(files.cwd, layer.path) === below)) {
    mistakes.push({ at: stated.at, problem: `extends: ${stated.value} extends this file again` });
    return null;
  }
  const shownBelow = relativeTo(path, stated.value);
  const base = readLayers(shownBelow, files, mistakes, chain);
  return base === null ? null : mergeNodes(base, root);
}

/** Shown relative to where the extending file is shown from. */
function relativeTo(path: string, stated: string): string {
  if (isAbsolute(stated)) return stated;
  const folder = dirname(path);
  return folder === '.' ? stated : `${folder}/${stated}`;
}
