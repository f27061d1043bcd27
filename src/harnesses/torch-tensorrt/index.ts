import type { CellHarness, HarnessResult, Method } from '../../records/harness.ts';
import { defineDriver, type DriverPlace, type DriverPlan, type HarnessFiles, type LoneReport } from '../driver.ts';
import { programOf, startOf } from '../started-program.ts';
import { type LatencyBlock, latencyBlocks } from './latency-blocks.ts';
import { DEFAULT_ESTIMATE_S, type TorchSettings, torchSettings } from './settings.ts';
import { notesIn, statedIn } from './stated.ts';

/** A Torch-TensorRT harness as in TensorRT's benchmarking guide, which prints one block of latencies. */
export const torchTensorrtDriver = defineDriver({
  kind: 'torch-tensorrt',
  settings: torchSettings,
  plan,
  read,
  reports,
  mark: /^[^\S\n]*Latency over \d+ runs? \(ms\):/m,
  needs: ['precision', 'shapes', 'cudaGraph'],
});

const NAME = 'torch-tensorrt';

/** Of a file that does not say what takes the times. */
export const TORCH_CELL: CellHarness = { name: NAME, timer: 'unknown', metric: 'latencyMs' };

function plan(settings: TorchSettings, { resolve }: DriverPlace): DriverPlan {
  return {
    kind: 'planned',
    cell: {
      harness: { ...TORCH_CELL, timer: settings.timer },
      identity: {},
      argv: programOf(settings.run, resolve),
      resultFiles: [],
      ...startOf(settings, resolve, DEFAULT_ESTIMATE_S),
    },
  };
}

/** A script may print several blocks while it warms up: the last one is its result. */
function read(settings: TorchSettings, files: HarnessFiles): HarnessResult {
  const block = latencyBlocks(files.text('stdout.log') ?? '').at(-1);
  if (block === undefined) {
    return { kind: 'faulty', problem: 'standard output has no block that begins with "Latency over N runs (ms):"' };
  }
  const { timer, transfers = null, warmUpRuns = null, version = null } = settings;
  return resultOf(block, { timer, transfers, warmUpRuns, harnessVersion: version });
}

function reports(text: string): LoneReport[] {
  return latencyBlocks(text).map((block) => ({
    harness: TORCH_CELL,
    result: resultOf(block, { timer: 'unknown', transfers: null, warmUpRuns: null, harnessVersion: null }),
    model: null,
    ...statedIn(block.comments),
    notes: notesIn(block.comments),
    identity: {},
    startedAt: null,
  }));
}

/** Percentiles are numpy's, which reads between two times: the harness of the guide calls numpy.percentile. */
function resultOf(
  { timedRuns, latencyMs }: LatencyBlock,
  how: Pick<Method, 'timer' | 'transfers' | 'warmUpRuns' | 'harnessVersion'>,
): HarnessResult {
  if (typeof latencyMs === 'string') return { kind: 'faulty', problem: latencyMs };
  return {
    kind: 'read',
    reading: {
      method: { harness: NAME, inFlight: 1, percentileRule: 'linear', timedRuns, ...how },
      latencyMs,
      values: [],
    },
  };
}
