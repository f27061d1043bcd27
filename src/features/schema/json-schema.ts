import * as z from 'zod';

import { accuracyOutput } from '../accuracy/output.ts';
import { ackOutput } from '../ack/output.ts';
import { attachOutput } from '../attach/output.ts';
import { baselinesOutput } from '../baseline/output.ts';
import { bisectOutput } from '../bisect/output.ts';
import { checkedSweep } from '../check/output.ts';
import { pareto, slo } from '../choose/output.ts';
import { comparison } from '../compare/output.ts';
import { backupOutput, infoOutput, mergeOutput, pruneOutput, rejudgeOutput, verifyOutput } from '../db/output.ts';
import { doctorOutput } from '../doctor/output.ts';
import { enginesGcOutput, enginesOutput } from '../engines/output.ts';
import { ab } from '../experiment/output.ts';
import { explainOutput } from '../explain/output.ts';
import { exported } from '../export/output.ts';
import { importOutput } from '../import/output.ts';
import { initOutput } from '../init/output.ts';
import { inspectOutput } from '../inspect/output.ts';
import { layers, layersDiff, layersKernels } from '../layers/output.ts';
import { cellsOutput, sweepsOutput } from '../ls/output.ts';
import { makeDatasetOutput } from '../make-dataset/output.ts';
import { makeInputsOutput } from '../make-inputs/output.ts';
import { noise } from '../noise/output.ts';
import { parseOutput } from '../parse/output.ts';
import { planOutput } from '../plan/output.ts';
import { profileOutput } from '../profile/output.ts';
import { quantizeOutput } from '../quantize/output.ts';
import { report, reportHtml, serve } from '../report/output.ts';
import { reproOutput } from '../repro/output.ts';
import { shownCell, shownRun, shownSweep } from '../show/output.ts';
import { cancelled, collected, submitted } from '../slurm/output.ts';
import { trend } from '../trend/output.ts';
import { why } from '../why/output.ts';

/** Every `--json` output by the name that `bench schema` knows it by. */
export const OUTPUTS = {
  compare: comparison,
  check: checkedSweep,
  ack: ackOutput,
  noise,
  accuracy: accuracyOutput,
  pareto,
  slo,
  layers,
  'layers-diff': layersDiff,
  'layers-kernels': layersKernels,
  profile: profileOutput,
  explain: explainOutput,
  attach: attachOutput,
  why,
  repro: reproOutput,
  export: exported,
  rejudge: rejudgeOutput,
  ab,
  bisect: bisectOutput,
  doctor: doctorOutput,
  engines: enginesOutput,
  'engines-gc': enginesGcOutput,
  init: initOutput,
  inspect: inspectOutput,
  'make-inputs': makeInputsOutput,
  'make-dataset': makeDatasetOutput,
  parse: parseOutput,
  plan: planOutput,
  quantize: quantizeOutput,
  run: shownSweep,
  report,
  'run-slurm': submitted,
  collect: collected,
  cancel: cancelled,
  trend,
  sweeps: sweepsOutput,
  cells: cellsOutput,
  import: importOutput,
  baselines: baselinesOutput,
  'show-cell': shownCell,
  'show-run': shownRun,
  'db-info': infoOutput,
  'db-verify': verifyOutput,
  'db-backup': backupOutput,
  'db-merge': mergeOutput,
  'db-prune': pruneOutput,
  'report-html': reportHtml,
  serve,
} as const;

export const OUTPUT_NAMES: readonly string[] = Object.keys(OUTPUTS);

/** JSON Schema (draft 2020-12) of a `--json` output; null for a name that has none. */
export function outputSchema(name: string): object | null {
  const found = Object.entries(OUTPUTS).find(([known]) => known === name)?.[1];
  return found === undefined ? null : z.toJSONSchema(found);
}
