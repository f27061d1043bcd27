import { existsSync, mkdirSync, writeFileSync, type Dirent, readdirSync, statSync } from 'node:fs';
import { dirname, join, parse, resolve, relative, sep } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite } from '../../cli/output-file.ts';
import { storePath } from '../../cli/store-location.ts';
import { errorCode, UsageError, type ExitCode } from '../../errors.ts';
import { loadMatrix } from '../../matrix/load.ts';
import { matrixJsonSchema } from '../../matrix/schema/schema.ts';
import { type Look, wrapWords } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { shellLine, shellQuote, yamlText } from '../../text/shell-quote.ts';
import type { InitOptions } from './command.ts';
import { draftModel, firstFree } from './draft.ts';
import type { DraftModel, InitOutput, Possibilities, SkippedFile } from './draft.ts';
import { readPythonVersions } from '../../tools/modelopt/packages.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { pythonFacts } from '../../tools/python/helper.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { gpusFacts } from '../doctor/index.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { onnxProblem, readingProblem } from '../../selection/find-runs.ts';

const SCHEMA_NAME = 'matrix.schema.json';

export async function init(places: readonly string[], options: InitOptions, io: Io): Promise<ExitCode> {
  const path = resolve(io.cwd, options.output);
  const files = onnxFilesOf(places, io);
  const here = await lookAround(options.trtexec, io);
  const { models, skipped } = await draftModels(files, dirname(path), here.possibilities, io);
  if (models.length === 0) {
    const problems = skipped.map(({ path: file, problem }) => `${printable(file)}: ${problem}`);
    throw new UsageError(`no model that a matrix can use: ${problems.join('; ')}`);
  }
  // Every guessed value has a comment that says so.
  const draft = [
    `# yaml-language-server: $schema=./${SCHEMA_NAME}`,
    '# Written by `bench init`. Comments mark guesses: correct them. All keys: bench help matrix',
    comment(`Run it: ${shellLine(['bench', 'run', options.output])}`),
    '',
    ...(here.statedTrtexec === null ? [] : [`trtexec: ${yamlText(here.statedTrtexec)}`, '']),
    'models:',
    ...models.flatMap(modelLines),
    ...skipped.map((file) => comment(`left out: ${file.path}: ${file.problem}`, '  ')),
  ];
  const text = `${draft.join('\n')}\n${REST}`;
  const matrix = loadMatrix(path, {
    cwd: io.cwd,
    readText: (file) => (file === path ? text : null),
    hashFiles: () => new Map(),
    readInputs: () => null,
  });
  write(path, text, options);
  const schemaFile = join(dirname(options.output), SCHEMA_NAME);
  const isStoreHere = dirname(storePath(undefined, io)) === io.cwd;
  const written: InitOutput = {
    schemaVersion: 1,
    file: options.output,
    schemaFile: writeNew(schemaFile, `${JSON.stringify(matrixJsonSchema(), null, 2)}\n`, io),
    ignoreFile: isStoreHere ? writeNew('.gitignore', `# made by bench\n${MADE.join('\n')}\n`, io) : null,
    trtexec: here.trtexec,
    gpus: here.gpus,
    models: models.map(({ dimensions, name, onnx, precisions }) => ({ name, onnx, precisions, dimensions })),
    skipped,
    lacking: here.lacking,
    cells: matrix.cells.length,
    runs: matrix.cells.length * matrix.repeats,
  };
  return printResult(io, options, written, initText);
}

function write(path: string, text: string, { force, output }: InitOptions): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: force === true ? 'w' : 'wx' });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw cannotWrite(output, error, '--output FILE writes elsewhere');
    const advice = '--force replaces it, --output FILE writes another';
    throw new UsageError(`${printable(output)} exists: ${advice}`, { cause: error });
  }
}

/** Patterns for git: files that bench makes next to the store, and reports under the names used in the documents. */
const MADE = ['artefacts/', 'engines/', 'variants/', 'bench.sqlite*', 'report.html', 'report.md', 'report.xml'];

/** The name of the file; null when it exists: it stays unchanged. */
function writeNew(name: string, text: string, { cwd }: Io): string | null {
  const path = resolve(cwd, name);
  if (existsSync(path)) return null;
  writeFileSync(path, text);
  return name;
}

function initText(written: InitOutput, { columns, style }: Look): string[] {
  const { cells, file, gpus, ignoreFile, lacking, models, runs, schemaFile, skipped, trtexec } = written;
  const facts: readonly (readonly [name: string, text: string | null])[] = [
    [`trtexec ${trtexec?.version}`, trtexec?.version ? trtexec.path : null],
    ['GPU', gpus.join(', ')],
    ['schema for editors', schemaFile],
    ['git ignores the results', ignoreFile],
  ];
  const warnings = [
    ...skipped.map(({ path, problem }) => `left out: ${path}: ${problem}`),
    ...lacking.map((what) => `missing: ${what}`),
  ];
  return [
    `${style.strong(printable(file))}: ${count(models.length, 'model')}, ${count(cells, 'cell')}, ${count(runs, 'run')}`,
    ...models.map(({ name, precisions, dimensions }) => {
      const sizes = dimensions.map((each) => `${each.name} ${each.values.join(' ')}`);
      return `  ${printable([`${name}: ${precisions.map(({ precision }) => precision).join(' ')}`, ...sizes].join(' · '))}`;
    }),
    ...facts.flatMap(([name, text]) => (text ? [`${name}: ${printable(text)}`] : [])),
    ...warnings.flatMap((text) => wrapWords(printable(text), columns).map((line) => style.warn(line))),
    `next: bench plan ${shellQuote(file)}${lacking.length === 0 ? '' : '; bench doctor shows how to fix what is missing'}`,
  ];
}

const REST = `
axes:
  cudaGraph: on # launch through a captured CUDA graph; [on, off] measures both
  dataTransfers: off # copies of inputs and outputs are not in the timed part

run:
  warmUpMs: 500
  durationS: 3

repeats: 3 # runs of each cell; more runs detect smaller changes: see \`bench noise\`
profile: false # true: one more run of each cell with times by layer, for \`bench why\`

gate: # what \`bench check\` reports
  confirm: true # measure slower cells in pairs with their last good engine
  # minChange: 2% # smaller changes are not reported
  # limits: ['p99 <= 5 ms', { limit: 'engineMib <= 500', filter: 'batch=1' }]
  # owners: [{ filter: 'model=*', owner: team-vision }] # for each cell, the last match counts
`;

function modelLines(model: DraftModel): string[] {
  const { cudaGraph, dimensions, name, onnx, precisions, shapes } = model;
  const limits = (['min', 'opt', 'max'] as const).map((limit) => {
    const sizes = dimensions.map((dimension) => `${yamlText(dimension.name)}: ${dimension[limit]}`);
    return `      ${limit}: { ${sizes.join(', ')} }`;
  });
  return [
    `  ${yamlText(name)}:`,
    `    onnx: ${yamlText(onnx)}`,
    shapes === null ? '    shapes: static' : '    shapes: # axes lists the values of named dimensions',
    ...Object.entries(shapes ?? {}).map(([input, shape]) => {
      const sizes = shape.map((size) => (typeof size === 'number' ? size : yamlText(size)));
      return `      ${yamlText(input)}: [${sizes.join(', ')}]`;
    }),
    '    precisions:',
    ...precisions.map(({ precision, source, why }) => `      ${precision}: ${source} # ${why}`),
    '    axes:',
    `      precision: [${precisions.map(({ precision }) => precision).join(', ')}]`,
    ...(cudaGraph ? [] : ['      cudaGraph: off # the host evaluates its loops and conditions']),
    ...dimensions.map((axis) => `      ${yamlText(axis.name)}: [${axis.values.join(', ')}] # guessed, ${axis.why}`),
    ...(dimensions.length === 0
      ? []
      : ['    build: # the optimization profile; TensorRT optimizes for `opt`', ...limits]),
  ];
}

function comment(text: string, indent = ''): string {
  return `${indent}# ${printable(text)}`;
}

/** Facts of this machine that decide what a matrix may request. */
async function lookAround(stated: string | undefined, io: Io) {
  const { cwd, env, signal } = io;
  const [{ trtexec }, gpus, python] = await Promise.all([
    trtexecFacts({ flag: stated, matrix: null, env, cwd, signal, timeoutMs: 30_000 }),
    gpusFacts(env, 10_000),
    pythonFacts(env, 10_000),
  ]);
  const help = trtexec.kind === 'found' ? trtexec.help : null;
  const version = help?.kind === 'version' ? help.version : null;
  const names = gpus.kind === 'report' ? gpus.gpus.map(({ name }) => name ?? 'a GPU') : [];
  const answer = python.answer.kind === 'answered' ? readPythonVersions(python.answer.text) : null;
  const lacking = [
    trtexec.kind === 'missing' ? trtexec.problem : null,
    help?.kind === 'failed' ? help.problem : null,
    version === null ? null : new Dialect(version).refusal,
    names.length === 0 ? 'a GPU: nvidia-smi shows none' : null,
  ].filter((problem) => problem !== null);
  return {
    possibilities: { version, hasModelopt: answer?.packages.some(([name]) => name === 'nvidia-modelopt') === true },
    trtexec:
      trtexec.kind === 'missing' ? null : { path: trtexec.path, version: version && formatTensorrtVersion(version) },
    // Absolute if stated by an option, because a search would not find it.
    statedTrtexec: stated === undefined || trtexec.kind === 'missing' ? null : resolve(cwd, stated),
    gpus: names,
    lacking,
  };
}

/** The ONNX files of the given places, each once. @throws UsageError when there is none */
function onnxFilesOf(places: readonly string[], io: Io): Set<string> {
  const files = (places.length === 0 ? ['.'] : places).flatMap((place) => {
    const path = resolve(io.cwd, place);
    try {
      return statSync(path).isDirectory() ? onnxFilesIn(path) : [path];
    } catch (error) {
      throw new UsageError(`${printable(place)}: ${readingProblem(error)}`, { cause: error });
    }
  });
  if (files.length > 0) return new Set(files);
  const where = places.map((place) => printable(place)).join(', ') || 'this folder or below it';
  throw new UsageError(`no ONNX file in ${where}: name one, bench init MODEL.onnx`);
}

/** Drafts a model for each file. @param matrixFolder paths are relative to it, so that both can move together */
async function draftModels(files: Set<string>, matrixFolder: string, possibilities: Possibilities, io: Io) {
  const models: DraftModel[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of files) {
    const onnx = relative(matrixFolder, file).split(sep).join('/');
    const taken = models.map(({ name }) => name);
    try {
      const drafted = draftModel(await readOnnxFacts(file), possibilities);
      models.push({ name: firstFree(parse(file).name.trim() || 'model', taken), onnx, ...drafted });
    } catch (error) {
      skipped.push({ path: onnx, problem: onnxProblem(error) });
    }
    io.signal.throwIfAborted();
  }
  return { models, skipped };
}

/** Folders of other programs and folders of bench's own output. */
const NOT_LOOKED_INTO = new Set(['node_modules', 'site-packages', 'variants', 'artefacts', '__pycache__']);
const MAX_DEPTH = 6;

/** ONNX files in a folder, then in its subfolders. Skips links to folders and unreadable folders. */
function onnxFilesIn(folder: string, depth = 1): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
  const files = entries.filter((entry) => !entry.isDirectory() && /\.onnx$/i.test(entry.name));
  const folders = entries.filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !NOT_LOOKED_INTO.has(entry.name),
  );
  const below = depth === MAX_DEPTH ? [] : folders.flatMap(({ name }) => onnxFilesIn(join(folder, name), depth + 1));
  return [...files.map(({ name }) => join(folder, name)), ...below];
}
