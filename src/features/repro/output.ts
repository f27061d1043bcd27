import * as z from 'zod';

import { LAYER_CHANGES } from '../../layers/diff-layers.ts';
import { count, id, instant, output, type OutputOf, provenance, role } from '../../records/output-parts.ts';
import { sha256Schema, textByName, textOrNull } from '../../records/scalars.ts';
import { variantRecord } from '../../records/conversion.ts';

const texts = z.array(z.string());
const hashed = z.strictObject({ path: z.string(), sha256: sha256Schema.nullable() });
const textOrNullByName = z.record(z.string(), textOrNull);
const command = z.strictObject({
  argv: texts.describe('Stored command line'),
  localArgv: texts.describe('Command line with paths that work from the current folder'),
  runId: id.nullable().describe('Null if it comes from a plan, not from a run'),
});

export const reproOutput = output('bench repro --json', {
  runId: id,
  sweepId: id,
  label: z.string(),
  role,
  provenance,
  startedAt: instant.nullable(),
  harness: textOrNull.describe('Null where trtexec measured'),
  start: z
    .strictObject({
      argv: texts.describe('{runFolder} is replaced by the folder of the run'),
      cwd: textOrNull.describe('Working folder; null: the folder of the run'),
      env: textOrNullByName.describe('Variables that the matrix sets; null removes one'),
      withheld: texts.describe('Variables of the matrix whose values are hidden, because they may be secrets'),
    })
    .nullable()
    .describe('How another harness is started; null for trtexec'),
  axisEnv: textOrNullByName.describe('Environment variables of the axes, only for the run; null removes one'),
  source: z.enum(['stored', 'recorder']).describe('Source of the command lines; for a replayed run, its recorder'),
  conversion: z
    .strictObject({
      record: variantRecord.nullable().describe('The variant; null if no run states it'),
      basePath: textOrNull,
      argv: texts.nullable(),
    })
    .nullable()
    .describe('How bench converted the base model into the model of the engine'),
  build: command.nullable(),
  run: command.nullable().describe('Null for a build'),
  commandLine: textOrNull.describe('From a log without a run folder: arguments joined without quotes'),
  model: hashed
    .extend({ external: texts.nullable().describe('Files of external data; null if the model is missing') })
    .nullable(),
  engine: z.strictObject({
    sha256: sha256Schema.nullable(),
    isGiven: z.boolean().describe('True if the engine was a given file, whose build is unknown'),
  }),
  trtexec: hashed.nullable(),
  inputs: z.array(hashed),
  environment: z.record(z.string(), z.union([z.string(), z.number()]).nullable()),
  clockPolicy: textOrNull,
  git: z.strictObject({ commit: textOrNull, branch: textOrNull, dirty: z.boolean().nullable() }),
  toolVersion: z.string(),
  env: textByName,
  withheld: count.describe('Number of hidden variables, which may hold secrets'),
  unknown: texts.describe('What a repetition needs but no record states'),
  script: textOrNull.describe('The file that was written'),
});

export type ReproOutput = OutputOf<typeof reproOutput>;

const reduced = z.strictObject({
  layer: z.string().describe('ONNX nodes of the layer'),
  change: z.enum(LAYER_CHANGES),
  deltaMs: z.number().describe('Change of the profiled time; 0 without profiles'),
  matching: count.describe('Number of layers with this name; bench took the one that changed most'),
  around: count.describe('Layers kept on each side of the layer'),
  nodesBefore: count,
  nodesAfter: count,
  nodesOfLayer: count,
  commands: z
    .strictObject({ base: z.string(), head: z.string() })
    .describe('trtexec commands that build and profile the reduced model'),
  notes: texts,
});

export type Reduced = OutputOf<typeof reduced>;

export const reproBundle = output('bench repro --bundle --json', {
  file: z.string(),
  bytes: count,
  runId: id,
  baseRunId: id.nullable().describe('Null without --base'),
  files: z.array(z.strictObject({ name: z.string(), bytes: count.describe('Before compression') })),
  leftOut: z.array(z.strictObject({ name: z.string(), why: z.string() })),
  reduced: reduced.nullable().describe('Null without --reduce'),
});

export type ReproBundle = OutputOf<typeof reproBundle>;
