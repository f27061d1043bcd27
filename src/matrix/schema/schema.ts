import * as z from 'zod';

import type { Driver } from '../../harnesses/driver.ts';
import { DRIVERS } from '../../harnesses/registry.ts';
import {
  ALLOCATION_STRATEGIES,
  LOADERS,
  type NAMED_AXES,
  PROFILING_VERBOSITIES,
  RUNTIMES,
  SPARSITIES,
  WEIGHTS,
} from '../../records/axis.ts';
import { CPU_SET, readCoolDown } from '../../machine/requests.ts';
import { PRECISIONS, PRECISION_ROUTES } from '../../records/cell.ts';
import { readConfirmBudget } from '../../records/gated-metric.ts';
import { LONGEST_NOTE } from '../../text/printable.ts';
import { readByteSize } from '../../text/units.ts';
import { conversionSchema } from '../../records/conversion.ts';
import { allOptional, matching, wholeFrom } from '../../records/scalars.ts';
import { slurmSchema } from './slurm-schema.ts';

/**
 * The matrix file. Descriptions become the JSON Schema for editors and the reference in `docs/`. `expand.ts` and
 * `plan/` check what zod cannot, such as shapes within limits and options by version.
 */

const some = <Value extends z.ZodType>(value: Value) => z.array(value).min(1);

const oneOrMore = <Value extends z.ZodType>(value: Value) => z.union([value, some(value)]);

const nonEmpty = z.string().min(1);

const yesNo = (about: string) => z.boolean().describe(about);

/** A text that `read` understands; it returns null for any other. */
const readBy = <Value>(read: (text: string) => Value | null, problem: string, about: string) =>
  z
    .string()
    .describe(about)
    .transform((text, { addIssue }) => {
      const value = read(text);
      if (value === null) addIssue({ code: 'custom', message: problem });
      return value ?? z.NEVER;
    });

const onOff = z
  .union([z.boolean(), z.enum(['on', 'off'])])
  .describe('on or off')
  .transform((stated) => stated === true || stated === 'on');

const seconds = z.number().min(0.1).max(1e6);

const dimension = z.union([wholeFrom(0), matching(/^[A-Za-z_]\w*$/)]);

const shapeTemplate = z
  .union([z.array(dimension), matching(/^(?:\d+|[A-Za-wyz_]+)(?:x(?:\d+|[A-Za-wyz_]+))*$/), wholeFrom(1)])
  .describe('Dimensions: [batch, 3, 224, 224] or 8x3x224x224. A name refers to the axis of that name.')
  .transform((stated): readonly (number | string)[] => {
    if (typeof stated !== 'string') return [stated].flat();
    return stated.split('x').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  });

const shapeSet = z.record(z.string(), shapeTemplate).describe('The shape of each input, by input name');

const note = matching(/\S/, 'write some text, or leave it out')
  .max(LONGEST_NOTE)
  .describe('A note for people, kept with every run. Not part of the cell');

const precisionSource = z
  .union([
    z.enum(PRECISION_ROUTES).exclude(['engine']),
    z.strictObject({ onnx: nonEmpty.describe('An ONNX file that has this precision'), note: note.optional() }),
    z.strictObject({ engine: nonEmpty.describe('A built engine of this precision'), note: note.optional() }),
    conversionSchema,
  ])
  .describe(
    'How a precision is reached: flag (trtexec --fp16, TensorRT up to 10.x), autocast or modelopt (both convert the base model), either with options ({via: modelopt, …}), or a file of this precision',
  );

const precisions = z.partialRecord(z.enum(PRECISIONS), precisionSource).describe('How each precision is reached');

const integers = z.union([z.number().int(), z.string(), some(z.union([z.number().int(), z.string()]))]);
const positives = oneOrMore(z.number().min(0));
const switches = oneOrMore(onOff);
const precisionNames = oneOrMore(z.enum(PRECISIONS));
const envValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const flagValue = z.union([z.string(), z.number(), z.boolean()]);

/** Axes for options of trtexec: see `records/axis.ts`. */
const flagAxes = {
  runtime: oneOrMore(z.enum(RUNTIMES)).describe(
    'The TensorRT runtime; for the smaller lean and dispatch, the engine is built version-compatible. Since 8.6. Default: full',
  ),
  weights: oneOrMore(z.enum(WEIGHTS)).describe(
    'stripped: the engine takes its weights from the ONNX file when loaded; refittable: it can take others. Since 10.14. Default: full',
  ),
  weightBudget: oneOrMore(z.union([z.string(), z.number()])).describe(
    'Weight streaming: off, auto, or the budget of GPU memory, as a share (50%) or size (512M, 2G); all use one engine. Since 10.0',
  ),
  allocationStrategy: oneOrMore(z.enum(ALLOCATION_STRATEGIES)).describe(
    'Device memory of the execution context: static (for the largest shapes of all profiles), profile (of this one) or runtime (for the shapes that run). Since 10.0. Default: static',
  ),
  auxStreams: oneOrMore(wholeFrom(0).max(1000)).describe(
    'Maximum number of auxiliary streams, for layers that run at once. Since 8.6. Default: TensorRT decides',
  ),
  sparsity: oneOrMore(z.enum(SPARSITIES)).describe(
    'Kernels for structured sparsity; force is refused: prune the model, and state enable. Default: disable',
  ),
  builderOptimizationLevel: oneOrMore(wholeFrom(0).max(5)).describe(
    'Effort of the builder, 0 to 5, as an axis. Since 8.6',
  ),
  memPoolSize: oneOrMore(z.string()).describe('Memory pools of the builder, such as workspace:512M; whole MiB'),
  loader: oneOrMore(z.enum(LOADERS)).describe(
    'How the engine is read from its file; async since 10.7. Default: default',
  ),
  profilingVerbosity: oneOrMore(z.enum(PROFILING_VERBOSITIES)).describe(
    'Layer information in the engine and its NVTX ranges; none has no layers, and least effect on times. Default: detailed',
  ),
  device: oneOrMore(z.string()).describe(
    'gpu, or a DLA core (dla0, dla1) with the GPU as fallback, without CUDA graphs. Default: gpu',
  ),
  with: oneOrMore(nonEmpty).describe('A model of the matrix that runs on the GPU meanwhile. Default: none'),
} satisfies Readonly<Record<keyof typeof NAMED_AXES, z.ZodType>>;

const namedAxes = {
  precision: precisionNames.describe(`One of ${PRECISIONS.join(', ')}`),
  cudaGraph: switches.describe('Launch through a captured CUDA graph. Default: on'),
  dataTransfers: switches.describe('Copy inputs and outputs in the timed part. Default: off'),
  spinWait: switches.describe('Spin instead of blocking while waiting for the GPU. Default: on'),
  streams: z
    .union([wholeFrom(1), some(wholeFrom(1)), matching(/^[1-9]\d*\.\./, 'a range such as 1..8 is needed')])
    .describe('Inference streams: values, or a range such as 1..8. Default: 1'),
  warmUpMs: positives.describe('Warm-up as an axis: then it is part of the cell'),
  durationS: positives.describe('Duration as an axis: then it is part of the cell'),
  iterations: oneOrMore(wholeFrom(1)).describe('Iterations as an axis: then they are part of the cell'),
  env: z
    .record(matching(/^[A-Za-z_]\w*$/), oneOrMore(envValue))
    .describe(
      'Environment variables: {NAME: [unset, "1"]}. Values are stored: set no secrets here, which programs inherit from bench',
    ),
  shapes: oneOrMore(shapeSet).describe('Whole sets of shapes, where names and sizes change together'),
  ...flagAxes,
};

/** Known axes. Any other name is a dimension in `shapes`, or a `--flag`. */
export const AXIS_NAMES: readonly string[] = Object.keys(namedAxes);

const axes = z
  .object(namedAxes)
  .partial()
  .catchall(z.union([integers, flagValue, some(flagValue)]))
  .describe(
    'Each axis is a list of values; the matrix is their product. Besides the names here: any dimension that `shapes` names (values, or ranges such as 1..1024*2) and any trtexec flag ("--avgTiming": [4, 8])',
  );

const flags = z
  .record(matching(/^--?\w/), z.union([flagValue, some(z.string())]))
  .describe('trtexec flags and their values; true for a flag without a value, a list for a repeatable flag');

const buildLimits = z
  .record(z.string(), z.union([wholeFrom(0), shapeTemplate]))
  .describe('By dimension ({batch: 8}) or by input ({input: 8x3x224x224})');

const profileLimits = {
  min: buildLimits.describe('Smallest shapes of the optimization profile'),
  opt: buildLimits.describe('Shapes that the builder optimizes for'),
  max: buildLimits.describe('Largest shapes of the optimization profile'),
};

const build = allOptional({
  ...profileLimits,
  profiles: some(allOptional(profileLimits))
    .max(64)
    .describe(
      'Several optimization profiles in one engine, in place of min, opt and max (TensorRT 9.1 or newer). A cell runs in the profile whose opt is nearest to its shapes',
    ),
  optimizationLevel: wholeFrom(0).max(5).describe('Effort of the builder. Default: that of TensorRT'),
  memoryPoolsMib: allOptional({
    workspace: wholeFrom(1),
    tacticSharedMem: wholeFrom(1),
    dlaSRAM: wholeFrom(1),
    dlaLocalDRAM: wholeFrom(1),
    dlaGlobalDRAM: wholeFrom(1),
  }).describe('Limits of the builder, in MiB'),
  timingCache: z
    .union([z.boolean(), nonEmpty])
    .describe(
      'Keep a timing cache next to the store, one for each GPU model and TensorRT; or a file of your own, which is copied and never written. Default: true',
    ),
  verbose: yesNo('Write every line of the builder into the build log, up to its size limit. Default: false'),
  engine: z
    .enum(['current', 'frozen'])
    .describe(
      'frozen: keep the first engine for this model, precision and flags, even if something else changes. Default: current',
    ),
  flags: flags.describe('Other build flags'),
  timeoutS: z.number().min(1).describe('Time limit of one build. Default: 3600'),
}).describe('How engines are built. Not part of the cell: a rebuilt engine is the same cell');

const method = allOptional({
  warmUpMs: z.number().min(0).describe('Warm-up of each run. Default: 200'),
  durationS: z.number().min(0).describe('Minimum duration of the timed part. Default: 3'),
  iterations: wholeFrom(1).describe('Minimum number of queries of each run. Default: 10'),
  capture: wholeFrom(1).describe(
    'For a profiler: this many queries, without warm-up and duration. Never compared or judged',
  ),
  percentiles: some(z.number().gt(0).max(100)).describe('Percentiles that trtexec prints. Default: 90, 95, 99'),
  minQueries: wholeFrom(1).describe('With fewer timed queries, a run is unfit. Default: 30'),
  minWarmUpQueries: wholeFrom(0).describe('With fewer warm-up queries and a slow start, a run is unfit. Default: 10'),
  exportTimes: yesNo('Keep the time of every query. Default: true'),
  timeoutS: z.number().min(1).describe('Time limit of a whole run. Default: by warm-up and duration'),
  flags: flags.describe('Other flags of the timed run'),
}).describe('How a cell is measured. Not part of the cell');

const libraries = oneOrMore(nonEmpty);

const plugins = allOptional({
  static: libraries.describe('Loaded with trtexec itself'),
  dynamic: libraries.describe('Loaded into the registry of the builder and of the runtime. Since 8.6'),
  serialize: libraries.describe(
    'Libraries of dynamic to include in the engine, which is then built version-compatible',
  ),
}).describe('Plugin libraries, relative to this file. Their content is part of the engine key');

const [firstDriver, ...otherDrivers] = DRIVERS;

function harnessOf(outside: readonly Driver[]) {
  return z
    .discriminatedUnion('kind', [
      firstDriver.settings,
      ...[...otherDrivers, ...outside].map(({ settings }) => settings),
    ])
    .describe('Another program than trtexec that measures this model');
}

const model = allOptional({
  onnx: nonEmpty.describe('The base model, relative to this file'),
  engine: nonEmpty.describe('A built engine to use as it is'),
  harness: harnessOf([]),
  note,
  shapes: z
    .union([z.literal('static'), shapeSet])
    .describe(
      'The run shape of each input; static for a model without dynamic dimensions. Default: from the file, if the first dimension (batch) is the only dynamic one',
    ),
  inputs: z.record(z.string(), nonEmpty).describe('Raw binary files with the values of inputs. Default: random'),
  precisions: precisions,
  plugins: plugins,
  axes: axes.describe('Axes with other values for this model'),
  build: build,
}).describe('A model of the matrix');

const includeEntry = z
  .object({ model: oneOrMore(z.string()).describe('Default: all'), ...namedAxes })
  .partial()
  .catchall(z.union([integers, flagValue, some(flagValue)]))
  .describe('More cells: these axes take these values, all others the values of the matrix');

function modelsOf(each: typeof model) {
  return z.record(nonEmpty, each).describe('The models, by name');
}

const models = modelsOf(model);

const modules = oneOrMore(nonEmpty);

const filter = nonEmpty.describe('Cells, as in --filter. Default: all');
const metric = nonEmpty.describe('A metric; its unit may be left out: p99, throughput, engine, sqnr. Default: all');

const percent = z
  .union([
    z.number().gt(0).max(100),
    matching(/^(?!0+(?:\.0+)?\s*%)(?:\d\d?(?:\.\d+)?|100(?:\.0+)?)\s*%$/, 'write a percentage such as 2%'),
  ])
  .describe('Such as 2%');

const minChange = z
  .strictObject({ metric: metric.optional(), filter: filter.optional(), percent })
  .describe('For each cell and metric, the last entry that matches counts');

const limitText = nonEmpty.describe("Such as 'p99 <= 2 ms' or 'sqnr >= 25'");

const limit = z.strictObject({ limit: limitText, filter: filter.optional() }).describe('A limit for some cells');

const warning = z.strictObject({ metric: metric.optional(), filter: filter.optional() }).describe('Some cells');

const owner = z
  .strictObject({
    filter,
    owner: matching(/^[^\p{C}]{1,100}$/u, 'write one line of at most 100 characters').describe(
      'Owner to print with each finding of these cells',
    ),
  })
  .describe('For each cell, the last entry that matches counts');

const gateSchema = allOptional({
  confirm: yesNo('Measure slower cells in pairs with their last good engine at the end of a sweep. Default: false'),
  confirmBudget: matching(
    /^\d+(?:\.\d+)?\s*(?:%|s|m|h)$/,
    'write a share of the sweep such as 10%, or a time such as 20m',
  )
    .describe('Time for these pairs: a share of the sweep (10%) or a time (20m). Default: 10%')
    .transform((text) => readConfirmBudget(text) ?? { kind: 'time' as const, seconds: 0 }),
  minChange: z
    .union([percent, some(minChange)])
    .describe('Smaller changes of a time, a throughput or a size are not reported. Default: what can be detected'),
  limits: some(z.union([limitText, limit])).describe(
    'Absolute limits of metrics: bench reports a broken limit until it holds',
  ),
  warn: some(z.union([metric, warning])).describe(
    'Metrics or cells whose findings only warn; findings of build-time always only warn',
  ),
  against: nonEmpty.describe('The baseline to judge cells against, instead of the last accepted level'),
  renamedFrom: nonEmpty.describe('The earlier name of this matrix, whose sweeps belong to its history'),
  owners: some(owner).describe('Owners of cells'),
  notify: z
    .union([
      some(nonEmpty).max(100),
      z.strictObject({ module: nonEmpty.describe('A file of JavaScript, ./name.js, or an npm package') }),
    ])
    .describe(
      'A program and its arguments, which `bench check` starts with its JSON for new findings; or a module whose default export it calls',
    ),
}).describe('Settings of `bench check` for sweeps of this matrix');

const enginesSchema = allOptional({
  keepLastGood: readBy(
    readByteSize,
    'write a size such as 10GB or 512MiB',
    'Space for the last good engine of each cell, as 10GB. Default: 10GB',
  ),
}).describe('Engines to keep so that they can be measured again');

export const matrixSchema = allOptional({
  name: nonEmpty.max(100).describe('Default: the file name'),
  description: z.string().describe('For people'),
  extends: nonEmpty.describe('Another matrix that this one extends'),
  trtexec: nonEmpty.describe('Path of trtexec. Default: $TRTEXEC, else from PATH'),
  allowUnknownFlags: yesNo('Pass on flags that bench does not know, if the help of trtexec names them'),
  replay: nonEmpty.describe('Recordings that answer instead of trtexec'),
  drivers: modules.describe(
    'Plug-ins for further harnesses: files of JavaScript, relative to this file, or npm packages installed there',
  ),
  reporters: modules.describe('Plug-ins for further formats of `bench report --reporter`, named like drivers'),
  models,
  precisions: precisions,
  plugins: plugins,
  axes: axes,
  include: z.array(includeEntry).describe('Cells in addition to the product of the axes'),
  exclude: z.array(nonEmpty).describe('Cells to leave out, such as "precision=fp8 & batch<8"'),
  build: build,
  run: method,
  timeouts: allOptional({
    firstOutputS: seconds.describe('From the start to the first output. Default: 300'),
    loadS: seconds.describe(
      'From the first output to the first inference. Default: 300, and 50 more for each GB of the engine',
    ),
    timedPartS: seconds.describe('Warm-up and timed part. Default: 120 and five times warm-up and duration'),
    endS: seconds.describe('After the timed part: exports, the second pass of a profile run'),
  }).describe('Time limit of each part of a run; timeoutS under run and build limits the whole'),
  retries: allOptional({
    times: wholeFrom(0).max(20).describe('Maximum number of retries. Default: 2'),
    waitS: z
      .number()
      .min(0)
      .max(3600)
      .describe('Wait before the first retry, four times as long before each further one. Default: 30'),
  }).describe(
    'Repeat runs that failed for a transient reason: a busy GPU, memory that another process holds, a lost device',
  ),
  repeats: wholeFrom(1).max(1000).describe('Runs of each cell. Default: 3'),
  builds: wholeFrom(1)
    .max(100)
    .describe('Builds of each engine, each run `repeats` times, to separate build luck from run noise. Default: 1'),
  profile: yesNo('Also profile each cell once. Default: false'),
  coldStart: z
    .strictObject({ repeats: wholeFrom(1).max(1000).describe('Runs of each') })
    .describe(
      'Also measure the engine load and the first inference of a process, as separate cells (`cold-start`), without a CUDA graph. Default: off',
    ),
  seed: wholeFrom(0).describe('Seed of the order of runs. Default: a new one each time'),
  lockClocks: z
    .union([z.enum(['base', 'max']), wholeFrom(1).max(99_999)])
    .describe(
      'Lock the clocks of the GPU while a sweep runs: base, max or a frequency in MHz that it supports; needs permission. Default: leave them as they are',
    ),
  coolDown: readBy(
    readCoolDown,
    'write a time such as 10s, or a temperature such as 45C',
    'Before each timed run, wait for this time (10s) or this temperature of the GPU (45C, for at most 5 minutes; 45C/2m: 2 minutes). Default: do not wait',
  ),
  numa: z
    .union([
      z.enum(['auto', 'off']),
      wholeFrom(0).max(999),
      matching(CPU_SET, 'auto, off, the number of a node, or CPUs such as cpus:0-15 are needed'),
    ])
    .describe(
      'Bind runs with numactl to the NUMA node of their GPU (auto), or to the node with this number, or to CPUs (cpus:0-3,8) with the memory next to them. Default: off',
    ),
  slurm: slurmSchema,
  gate: gateSchema,
  engines: enginesSchema,
})
  .extend({ models })
  .describe('A matrix of TensorRT benchmarks for `bench run`');

/** @param outside drivers of plug-ins */
export function matrixSchemaWith(outside: readonly Driver[]): typeof matrixSchema {
  if (outside.length === 0) return matrixSchema;
  return matrixSchema.extend({ models: modelsOf(model.extend({ harness: harnessOf(outside).exactOptional() })) });
}

export type MatrixFile = z.infer<typeof matrixSchema>;
export type ModelFile = z.infer<typeof model>;
export type AxesFile = z.infer<typeof axes>;
export type BuildFile = z.infer<typeof build>;
export type PluginsFile = z.infer<typeof plugins>;
export type PrecisionSource = z.infer<typeof precisionSource>;
export type ShapeSet = Readonly<z.infer<typeof shapeSet>>;

/** JSON Schema (draft 2020-12) for editors. */
export function matrixJsonSchema(): z.core.JSONSchema.BaseSchema {
  return { ...z.toJSONSchema(matrixSchema, { io: 'input' }), title: 'trtbench matrix' };
}
