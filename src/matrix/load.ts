import { dirname, resolve } from 'node:path';

import { MatrixError, type Mistake, UsageError } from '../errors.ts';
import type { HashedFiles, Matrix } from './matrix.ts';
import { expandMatrix } from './expand.ts';
import { executedCode } from './executed-code.ts';
import { MistakeList, sortMistakes, mergeNodes, type SourceNode } from './yaml/source-node.ts';
import { matrixSchema } from './schema/schema.ts';
import { readSchema } from './yaml/schema-mistakes.ts';
import { readYaml } from './yaml/yaml-source.ts';

export interface MatrixFiles {
  /** What relative paths of matrix files are relative to. */
  readonly cwd: string;
  /**
   * Null when it cannot be read.
   * @throws UsageError for no text file, or one too large for a matrix; without the path
   */
  readonly readText: (path: string) => string | null;
  readonly hashFiles: (paths: readonly string[]) => HashedFiles;
}

const MAX_EXTENDS = 10;
const MAX_SYNTAX_MISTAKES = 9;
const MOST_TYPOS = 3;
const NO_MATRIX = 'is this a matrix? For a model: `bench init FILE`; for a log: `bench parse FILE`';

/**
 * Reads, checks and expands a matrix.
 * @param shownPath as the user wrote it, for messages
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
  const { file, source, mistakes: formal } = readSchema(root, matrixSchema);
  mistakes.push(...formal);
  if (file === null) throw new MatrixError(sortMistakes(mistakes));
  const list = new MistakeList(source, files.cwd);
  const matrix = expandMatrix(file, shownPath, files.hashFiles, list);
  mistakes.push(...list.mistakes);
  if (mistakes.length > 0) throw new MatrixError(sortMistakes(mistakes));
  if (matrix.cells.length === 0) {
    throw new MatrixError([{ at: root.at, problem: 'the matrix has no cells' }]);
  }
  return { ...matrix, executes };
}

function readLayers(
  path: string,
  files: MatrixFiles,
  mistakes: Mistake[],
  above: readonly { readonly path: string; readonly at: Mistake['at'] }[],
): SourceNode | null {
  const requestedAt = above.at(-1)?.at ?? { file: path, line: 1, column: 1 };
  let text: string | null;
  try {
    text = files.readText(path);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const whose = above.length === 0 ? '' : `extends: ${path}: `;
    mistakes.push({ at: requestedAt, problem: `${whose}${error.message}` });
    return null;
  }
  if (text === null) {
    mistakes.push({ at: requestedAt, problem: above.length === 0 ? 'no such file' : `extends: ${path}: no such file` });
    return null;
  }
  const { root, mistakes: syntax } = readYaml(path, text);
  mistakes.push(...withoutFlood(syntax));
  if (syntax.length > 0) return null;
  if (root.kind !== 'map') {
    const problem = `a matrix is a map that begins with models: or name: (${NO_MATRIX})`;
    mistakes.push({ at: root.at, problem });
    return null;
  }
  const keys = [...root.entries.keys()];
  if (keys.length > MOST_TYPOS && !keys.some((key) => key in matrixSchema.shape)) {
    mistakes.push({ at: root.at, problem: `none of its keys is one of a matrix (${NO_MATRIX})` });
    return null;
  }
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

/** A file that is not YAML has a mistake on every line. */
function withoutFlood(syntax: readonly Mistake[]): readonly Mistake[] {
  const next = syntax[MAX_SYNTAX_MISTAKES];
  if (next === undefined || syntax.length === MAX_SYNTAX_MISTAKES + 1) return syntax;
  const more = syntax.length - MAX_SYNTAX_MISTAKES;
  return [
    ...syntax.slice(0, MAX_SYNTAX_MISTAKES),
    { at: next.at, problem: `and ${more} more mistakes (${NO_MATRIX})` },
  ];
}

/** Shown relative to where the extending file is shown from. */
function relativeTo(path: string, stated: string): string {
  if (stated.startsWith('/')) return stated;
  const folder = dirname(path);
  return folder === '.' ? stated : `${folder}/${stated}`;
}
