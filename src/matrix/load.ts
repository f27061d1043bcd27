import { dirname, isAbsolute, resolve } from 'node:path';
import { MatrixError, type Mistake, throwMistakes, UsageError } from '../errors.ts';
import type { Driver } from '../harnesses/driver.ts';
import { outsideDriver, plugInProblem } from '../harnesses/plug-in.ts';
import { addDriver } from '../harnesses/registry.ts';
import { printable } from '../text/printable.ts';
import { eachStated } from './points/axes.ts';
import { expandMatrix, type NamedFiles } from './expand.ts';
import { matrixSchema, matrixSchemaWith } from './schema/schema.ts';
import { isRecord } from '../text/unknown-values.ts';
import { mergeSources, MistakeList, readSchema, readYaml, type Source } from './yaml/yaml-source.ts';

const TOP = /^$/;
const MODEL = /^models\/[^/]*$/;

/**
 * Everything in a matrix that executes code; refused by `bench run --untrusted`. `under`: the keys above it, joined by
 * slashes (default: any).
 */
export const CODE_RULES = [
  { under: TOP, key: /^trtexec$/, what: 'is started in place of trtexec, also by bench plan' },
  { under: TOP, key: /^allowUnknownFlags$/, what: 'passes on flags that may load files' },
  { under: TOP, key: /^(?:drivers|reporters)$/, what: 'loads code into bench' },
  { under: TOP, key: /^slurm$/, what: 'hands options, variables and images to sbatch' },
  { under: /^gate$/, key: /^notify$/, what: 'is started by bench check' },
  { key: /^python$/, what: 'is started as an interpreter' },
  { under: MODEL, key: /^harness$/, what: 'starts a program' },
  {
    under: /^(?:(?:models\/[^/]*\/)?precisions|models)\/[^/]*$/,
    key: /^engine$/,
    what: 'is an engine, which may carry libraries',
  },
  { under: /^(?:models\/[^/]*)?$/, key: /^plugins$/, what: 'loads libraries' },
  {
    key: /^--?(?:plugins|(?:static|dynamic|safety)Plugins|setPluginsToSerialize|leanDLLPath)$/,
    what: 'loads libraries',
  },
  { key: /^--?loadEngine$/, what: 'loads an engine, which may carry libraries' },
  {
    key: /^--?(?:save\w+|dump\w+ToFile|\w+CacheFile|tun\w+File|tempdir|export\w+)$/,
    what: 'writes a file at any path',
  },
  { key: /^--?remote\w+$/, what: 'connects to another machine' },
  { under: /(?:^|\/)calibration$/, key: /^data$/, what: 'is loaded by Python, which may execute pickled code in it' },
  { under: /^(?:(?:models\/[^/]*\/)?axes|include\/\d+)$/, key: /^env$/, what: 'sets variables, such as LD_PRELOAD' },
];

/** Everything that a matrix would start or load, including the files that it extends. */
function* codeUnder(value: unknown, path: readonly string[], list: MistakeList): Generator<Mistake> {
  // A slash in a name is no border between two keys.
  const above = path.map((key) => key.replaceAll('/', ' ')).join('/');
  for (const [key, inner] of Object.entries(typeof value === 'object' && value !== null ? value : {})) {
    const rule = CODE_RULES.find((each) => each.key.test(key) && each.under?.test(above) !== false);
    const at = [...path, key];
    if (rule === undefined || inner === false || inner === null) yield* codeUnder(inner, at, list);
    else yield { at: list.keyAt(at), problem: printable(`${at.join('.')}: ${rule.what}`) };
  }
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
export function loadMatrix(shownPath: string, files: MatrixFiles, { isUntrusted } = { isUntrusted: false }) {
  const source = readLayers(shownPath, files, []);
  const list = new MistakeList(source, files.cwd);
  const executes = [...codeUnder(source.value, [], list)];
  if (isUntrusted) {
    throwMistakes(executes.map(({ at, problem }) => ({ at, problem: `${problem}: refused by --untrusted` })));
  }
  const file = readSchema(source, matrixSchemaWith(loadDrivers(source.value, list, files)));
  const matrix = expandMatrix(file, shownPath, files, list);
  throwMistakes(list.mistakes);
  if (matrix.cells.length === 0) {
    throw new MatrixError([{ at: list.at([]), problem: 'the matrix has no cells: it names no model' }]);
  }
  return { ...matrix, executes };
}

export type Matrix = ReturnType<typeof loadMatrix>;

/** Registers the drivers of plug-ins. The schema reports values that are not names. */
function loadDrivers(file: unknown, list: MistakeList, { cwd, loadModule }: MatrixFiles): Driver[] {
  if (!isRecord(file) || loadModule === undefined) return [];
  return eachStated(file['drivers'] ?? [], ['drivers']).flatMap(({ at: path, value }) => {
    if (typeof value !== 'string') return [];
    const at = list.at(path);
    try {
      const driver = outsideDriver(loadModule(value, resolve(cwd, at.file)));
      addDriver(driver);
      return [driver];
    } catch (error) {
      throw new MatrixError([{ at, problem: printable(`drivers: ${value}: ${plugInProblem(error)}`) }]);
    }
  });
}

function readLayers(
  path: string,
  files: MatrixFiles,
  above: readonly { readonly path: string; readonly at: Mistake['at'] }[],
): Source {
  const from = above.at(-1);
  const refuse = (problem: string): never => {
    if (from === undefined) throw new UsageError(`${path}: ${problem}`);
    throw new MatrixError([{ at: from.at, problem: `extends: ${path}: ${problem}` }]);
  };
  let text: string | null;
  try {
    text = files.readText(path);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return refuse(error.message);
  }
  if (text === null) return refuse('file not found');
  const hasKnownKey = new RegExp(`^\\{?\\s*["']?(?:${Object.keys(matrixSchema.shape).join('|')})["']?\\s*:`, 'm').test(
    text,
  );
  if (text.trim() !== '' && !hasKnownKey) return refuse(NO_MATRIX);
  const source = readYaml(path, text);
  if (!isRecord(source.value)) return refuse(NO_MATRIX);
  const stated = source.value['extends'];
  if (typeof stated !== 'string') return source;
  const at = new MistakeList(source).at(['extends']);
  const below = resolve(files.cwd, dirname(path), stated);
  const chain = [...above, { path, at }];
  if (chain.length > MAX_EXTENDS || chain.some((layer) => resolve(files.cwd, layer.path) === below)) {
    throw new MatrixError([{ at, problem: `extends: ${stated} extends this file again` }]);
  }
  // Relative like the shown path of this file.
  const shownBelow = isAbsolute(stated) || dirname(path) === '.' ? stated : `${dirname(path)}/${stated}`;
  return mergeSources(readLayers(shownBelow, files, chain), source);
}
