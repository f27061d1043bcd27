import type * as z from 'zod';

import * as model from '../../src/features/model/output.ts';
import { ackOutput } from '../../src/features/ack/ack.ts';
import { baselinesOutput } from '../../src/features/baseline/baseline.ts';
import { bisectOutput } from '../../src/features/bisect/report.ts';
import { checked, shownFinding } from '../../src/features/check/output.ts';
import { pareto, slo } from '../../src/features/choose/output.ts';
import { searchSchema as search } from '../../src/features/run/search/search-runs.ts';
import { ab } from '../../src/features/experiment/report.ts';
import { comparison } from '../../src/features/compare/output.ts';
import * as db from '../../src/features/db/output.ts';
import { doctorOutput } from '../../src/features/doctor/output.ts';
import { enginesGcOutput, enginesOutput } from '../../src/features/engines/text.ts';
import { exported } from '../../src/features/export/trace.ts';
import { importOutput } from '../../src/features/import/text.ts';
import { initOutput } from '../../src/features/init/draft.ts';
import { layers, layersDiff, layersKernels } from '../../src/features/layers/output.ts';
import { cellsOutput, findingsOutput, machinesOutput, sweepsOutput } from '../../src/features/ls/output.ts';
import { noiseOutput } from '../../src/features/noise/noise.ts';
import { parseOutput } from '../../src/features/parse/parse.ts';
import { planOutput } from '../../src/features/plan/plan.ts';
import { profileOutput } from '../../src/features/profile/target.ts';
import { report, reportHtml, serve, upgrade } from '../../src/features/report/output.ts';
import { reproBundle, reproOutput } from '../../src/features/repro/output.ts';
import { attachOutput, explainOutput, shownCell, shownRun } from '../../src/features/show/output.ts';
import { shownSweep } from '../../src/features/sweep/output.ts';
import { cancelled, collected, submitted } from '../../src/features/slurm/text.ts';
import { trend } from '../../src/features/trend/text.ts';
import { why } from '../../src/features/why/text.ts';
import { bench, type BenchOptions, type Finished } from './bench.ts';

/** Every `--json` output by the name that `bench schema` knows it by, with its type. */
export const OUTPUTS = {
  compare: comparison,
  check: checked,
  ack: ackOutput,
  noise: noiseOutput,
  accuracy: model.accuracyOutput,
  pareto,
  slo,
  search,
  layers,
  'layers-diff': layersDiff,
  'layers-kernels': layersKernels,
  profile: profileOutput,
  explain: explainOutput,
  attach: attachOutput,
  why,
  repro: reproOutput,
  'repro-bundle': reproBundle,
  export: exported,
  rejudge: db.rejudgeOutput,
  'db-rm': db.rmOutput,
  ab,
  bisect: bisectOutput,
  doctor: doctorOutput,
  engines: enginesOutput,
  'engines-gc': enginesGcOutput,
  init: initOutput,
  inspect: model.inspectOutput,
  'make-inputs': model.makeInputsOutput,
  'make-dataset': model.makeDatasetOutput,
  findings: findingsOutput,
  parse: parseOutput,
  plan: planOutput,
  quantize: model.quantizeOutput,
  run: shownSweep,
  report,
  'run-slurm': submitted,
  collect: collected,
  cancel: cancelled,
  trend,
  sweeps: sweepsOutput,
  cells: cellsOutput,
  machines: machinesOutput,
  import: importOutput,
  baselines: baselinesOutput,
  'show-cell': shownCell,
  'show-finding': shownFinding,
  'show-run': shownRun,
  'db-info': db.infoOutput,
  'db-verify': db.verifyOutput,
  'db-backup': db.backupOutput,
  'db-merge': db.mergeOutput,
  'db-prune': db.pruneOutput,
  'report-html': reportHtml,
  upgrade,
  serve,
} as const;

interface Answer<Json> extends Omit<Finished, 'stdout'> {
  readonly json: Json;
}

/** What `bench` says with `--json`, as its schema has it. */
export async function benchJson<Json>(
  schema: z.ZodType<Json>,
  args: readonly string[],
  options?: BenchOptions,
): Promise<Answer<Json>> {
  const { stdout, ...ended } = await bench([...args, '--json'], options);
  if (stdout === '') throw new Error(ended.stderr);
  return { ...ended, json: schema.parse(JSON.parse(stdout)) };
}

export async function jsonOf<Json>(
  schema: z.ZodType<Json>,
  args: readonly string[],
  options?: BenchOptions,
): Promise<Json> {
  return (await benchJson(schema, args, options)).json;
}
