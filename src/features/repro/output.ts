import * as z from 'zod';

import { LAYER_CHANGES } from '../../layers/diff-layers.ts';
import { count, id, instant, output, type OutputOf, provenance, role } from '../../records/output-parts.ts';
import { sha256Schema, textByName, textOrNull } from '../../records/scalars.ts';
import { variantRecord } from '../../records/conversion.ts';

const texts = z.array(z.string());
const hashed = z.strictObject({ path: z.string(), sha256: sha256Schema.nullable() });
const textOrNullByName = z.record(z.string(), textOrNull);
const command = z.strictObject({
  argv: texts.describe('As it was stored'),
  localArgv: texts.describe('With names that work from the current folder'),
  runId: id.nullable().describe('Null where only a plan states it'),
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
      cwd: textOrNull.describe('Where it was started; null for the folder of the run'),
      env: textOrNullByName.describe('Set by the matrix, or taken away'),
      withheld: texts.describe('Set by the matrix to what may be a secret'),
    })
    .nullable()
    .describe('How another harness is started; null for trtexec'),
  axisEnv: textOrNullByName.describe('Variables on an axis of the matrix, of the run alone; null takes one away'),
  source: z.enum(['stored', 'recorder']).describe('Source of the command lines; for a replayed run, its recorder'),
  conversion: z
    .strictObject({
      record: variantRecord.nullable().describe('What was made; null if no run states it'),
      basePath: textOrNull,
      argv: texts.nullable(),
    })
    .nullable()
    .describe('How the model of the engine was made from another one'),
  build: command.nullable(),
  run: command.nullable().describe('Null for a build'),
  commandLine: textOrNull.describe('From a log without run folder: arguments joined without quotes'),
  model: hashed.extend({ external: texts.nullable().describe('Null: the model is not here') }).nullable(),
  engine: z.strictObject({
    sha256: sha256Schema.nullable(),
    isGiven: z.boolean().describe('Loaded from a file, of whose build nothing is known'),
  }),
  trtexec: hashed.nullable(),
  inputs: z.array(hashed),
  environment: z.record(z.string(), z.union([z.string(), z.number()]).nullable()),
  clockPolicy: textOrNull,
  git: z.strictObject({ commit: textOrNull, branch: textOrNull, dirty: z.boolean().nullable() }),
  toolVersion: z.string(),
  env: textByName,
  withheld: count.describe('Stored variables that are not shown, as they may hold secrets'),
  unknown: texts.describe('What a repetition would need and nothing recorded'),
  script: textOrNull.describe('The file that was written'),
});

export type ReproOutput = OutputOf<typeof reproOutput>;

const reduced = z.strictObject({
  layer: z.string().describe('ONNX nodes of the layer'),
  change: z.enum(LAYER_CHANGES),
  deltaMs: z.number().describe('By the profiles of the two builds; 0 without profiles'),
  matching: count.describe('Layers that the name fits; the one that changed most was taken'),
  around: count.describe('Layers that were taken on each side of it'),
  nodesBefore: count,
  nodesAfter: count,
  nodesOfLayer: count,
  commands: z
    .strictObject({ base: z.string(), head: z.string() })
    .describe('Of trtexec, which build and profile the reduced model without bench'),
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
