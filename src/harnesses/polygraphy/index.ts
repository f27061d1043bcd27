import type { HarnessResult } from '../../records/harness.ts';
import { defineDriver, type DriverPlace, type DriverPlan, type HarnessFiles, type LoneReport } from '../driver.ts';
import { programOf, startOf } from '../started-program.ts';
import { readResults } from './results.ts';
import { DEFAULT_ESTIMATE_S, type PolygraphySettings, polygraphySettings } from './settings.ts';

/** `polygraphy run`, by the times in the file of its `--save-outputs`. */
export const polygraphyDriver = defineDriver({
  kind: 'polygraphy',
  settings: polygraphySettings,
  plan,
  read,
  reports,
  mark: /^\s*\{\s*"lst"\s*:\s*\[/,
  needs: ['precision', 'shapes'],
});

const HARNESS = { name: 'polygraphy', timer: 'wall', metric: 'latencyMs' } as const;
const RESULTS = 'results.json';

function plan(settings: PolygraphySettings, { resolve }: DriverPlace): DriverPlan {
  return {
    kind: 'planned',
    cell: {
      harness: HARNESS,
      identity: {},
      argv: programOf(settings.run, resolve),
      resultFiles: [RESULTS],
      ...startOf(settings, resolve, DEFAULT_ESTIMATE_S),
    },
  };
}

function read(settings: PolygraphySettings, files: HarnessFiles): HarnessResult {
  const text = files.text(RESULTS);
  if (text === null) {
    return { kind: 'faulty', problem: `${RESULTS} was not written: add --save-outputs {runFolder}/${RESULTS}` };
  }
  const runners = readResults(text, settings.warmUpRuns ?? null) ?? 'no results of polygraphy';
  if (typeof runners === 'string') return { kind: 'faulty', problem: `${RESULTS}: ${runners}` };
  const [only] = runners;
  if (only === undefined || runners.length > 1) {
    return { kind: 'faulty', problem: `${RESULTS}: ${runners.length} runners instead of one` };
  }
  if (only.result.kind === 'faulty') return only.result;
  const { reading } = only.result;
  const method = { ...reading.method, harnessVersion: settings.version ?? null };
  return { kind: 'read', reading: { ...reading, method } };
}

function reports(text: string): LoneReport[] {
  const runners = readResults(text, null) ?? [];
  const found =
    typeof runners === 'string' ? [{ runner: '', result: { kind: 'faulty', problem: runners } as const }] : runners;
  return found.map(({ runner, result }) => ({
    harness: HARNESS,
    result,
    model: null,
    precision: null,
    shapes: null,
    cudaGraph: null,
    // Two runners in one file are two ways to run the model; the one of TensorRT needs no name.
    identity: runner === '' || runner.startsWith('trt-runner') ? {} : { runner: runnerKind(runner) },
    startedAt: null,
  }));
}

/** `onnxrt-runner` of `onnxrt-runner-N0-03/11/26-10:02:11`. */
function runnerKind(runner: string): string {
  return runner.replace(/-N\d+-.*$/, '');
}
