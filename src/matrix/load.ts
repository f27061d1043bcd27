import { dirname, isAbsolute, resolve } from 'node:path';
import { MatrixError, type Mistake, UsageError } from '../errors.ts';
import type { Driver } from '../harnesses/driver.ts';
import { outsideDriver, plugInProblem } from '../harnesses/plug-in.ts';
import { addDriver } from '../harnesses/registry.ts';
import { printable } from '../text/printable.ts';
import type { Matrix } from './matrix.ts';
import { expandMatrix, type NamedFiles } from './expand.ts';
import { mergeNodes, MistakeList, sortMistakes, type SourceNode } from './yaml/source-node.ts';
import { matrixSchema, matrixSchemaWith } from './schema/schema.ts';
import { readSchema, readYaml } from './yaml/yaml-source.ts';

interface Rule {
  /** Path from the top of a matrix. `*` matches any name, and a leading `**` any path. */
  readonly path: readonly string[];
  readonly key: RegExp;
  readonly what: string;
}

/** Everything in a matrix that executes code; refused by `bench run --untrusted`. */
export const CODE_RULES: readonly Rule[] = [
  { path: [], key: /^trtexec$/, what: 'is started in place of trtexec, also by bench plan' },
  { path: [], key: /^allowUnknownFlags$/, what: 'passes on flags that may load files' },
  { path: [], key: /^(?:drivers|reporters)$/, what: 'loads code into bench' },
  { path: [], key: /^slurm$/, what: 'hands options, variables and images to sbatch' },
  { path: ['gate'], key: /^notify$/, what: 'is started by bench check' },
  { path: ['**'], key: /^python$/, what: 'is started as an interpreter' },
  { path: ['models', '*'], key: /^harness$/, what: 'starts a program' },
  { path: ['models', '*'], key: /^engine$/, what: 'is an engine, which may carry libraries' },
  { path: ['precisions', '*'], key: /^engine$/, what: 'is an engine, which may carry libraries' },
  { path: ['models', '*', 'precisions', '*'], key: /^engine$/, what: 'is an engine, which may carry libraries' },
  { path: [], key: /^plugins$/, what: 'loads libraries' },
  { path: ['models', '*'], key: /^plugins$/, what: 'loads libraries' },
  {
    path: ['**'],
    key: /^--?(?:plugins|(?:static|dynamic|safety)Plugins|setPluginsToSerialize|leanDLLPath)$/,
    what: 'loads libraries',
  },
  { path: ['**'], key: /^--?loadEngine$/, what: 'loads an engine, which may carry libraries' },
  {
    path: ['**'],
    key: /^--?(?:save\w+|dump\w+ToFile|\w+CacheFile|tun\w+File|tempdir|export\w+)$/,
    what: 'writes a file at any path',
  },
  { path: ['**'], key: /^--?remote\w+$/, what: 'connects to another machine' },
  { path: ['**', 'calibration'], key: /^data$/, what: 'is loaded by Python, which may execute pickled code in it' },
  { path: ['axes'], key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
  { path: ['models', '*', 'axes'], key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
  { path: ['include', '*'], key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
];

/** Everything that a matrix would start or load, including the files that it extends. */
function* codeUnder(node: SourceNode, path: readonly string[]): Generator<Mistake> {
  if (node.kind === 'list') {
    for (const [index, item] of node.items.entries()) yield* codeUnder(item, [...path, String(index)]);
  }
  if (node.kind !== 'map') return;
  for (const [key, entry] of node.entries) {
    const rule = CODE_RULES.find((each) => each.key.test(key) && isAt(each.path, path));
    const isOff = entry.node.kind === 'scalar' && (entry.node.value === false || entry.node.value === null);
    if (rule === undefined || isOff) yield* codeUnder(entry.node, [...path, key]);
    else yield { at: entry.keyAt, problem: printable(`${[...path, key].join('.')}: ${rule.what}`) };
  }
}

function isAt(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern[0] === '**') {
    const last = pattern.slice(1);
    return last.length <= path.length && isAt(last, path.slice(path.length - last.length));
  }
  return pattern.length === path.length && pattern.every((step, index) => step === '*' || step === path[index]);
}

export interface MatrixFiles extends NamedFiles {
  /** Folder to which relative paths of matrix files refer. */
  readonly cwd: string;
  /**
   * Null when the file is missing.
   * @throws UsageError if it is not a text file, or too large for a matrix; the message omits the path
   */
  readonly readText: (path: string) => string | null;
  /**
   * Returns the default export of a plug-in; without this function there are no plug-ins.
   * @param from absolute path of the file that names it
   */
  readonly loadModule?: (stated: string, from: string) => unknown;
}

const MAX_EXTENDS = 10;
export const NO_MATRIX = 'is this a matrix? For a model: `bench init FILE`; for a log: `bench parse FILE`';

/**
 * Reads, checks and expands a matrix.
 * @param shownPath the path as the user wrote it, for messages
 * @throws UsageError if the file is missing or not a matrix
 * @throws MatrixError with every mistake, or with everything that an untrusted matrix would execute
 */
export function loadMatrix(
  shownPath: string,
  files: MatrixFiles,
  { isUntrusted }: { readonly isUntrusted: boolean } = { isUntrusted: false },
): Matrix {
  const mistakes: Mistake[] = [];
  const root = readLayers(shownPath, files, mistakes, []);
  if (root === null) throw new MatrixError(sortMistakes(mistakes));
  const executes = [...codeUnder(root, [])];
  if (isUntrusted && executes.length > 0) {
    const refused = executes.map(({ at, problem }) => ({ at, problem: `${problem}: refused by --untrusted` }));
    throw new MatrixError(sortMistakes(refused));
  }
  const drivers = loadDrivers(root, files, mistakes);
  if (mistakes.length > 0) throw new MatrixError(sortMistakes(mistakes));
  const { file, mistakes: formal } = readSchema(root, matrixSchemaWith(drivers));
  if (file === null) throw new MatrixError(sortMistakes(formal));
  const list = new MistakeList(root, files.cwd);
  const matrix = expandMatrix(file, shownPath, files, list);
  if (list.mistakes.length > 0) throw new MatrixError(sortMistakes(list.mistakes));
  if (matrix.cells.length === 0) {
    throw new MatrixError([{ at: root.at, problem: 'the matrix has no cells: it names no model' }]);
  }
  return { ...matrix, executes };
}

/** Registers the drivers of plug-ins. The schema reports values that are not names. */
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
  if (text === null) return refuse('file not found');
  const { root, mistakes: syntax } = readYaml(path, text);
  const hasKnownKey = new RegExp(`^\\{?\\s*["']?(?:${Object.keys(matrixSchema.shape).join('|')})["']?\\s*:`, 'm').test(
    text,
  );
  if (text.trim() !== '' && !hasKnownKey) return refuse(NO_MATRIX);
  if (syntax.length > 0) {
    mistakes.push(...syntax);
    return null;
  }
  if (root.kind !== 'map') return refuse(NO_MATRIX);
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

/** The path of an extended file, relative like the shown path of the extending file. */
function relativeTo(path: string, stated: string): string {
  if (isAbsolute(stated)) return stated;
  const folder = dirname(path);
  return folder === '.' ? stated : `${folder}/${stated}`;
}
