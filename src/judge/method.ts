import type { Cell } from '../records/cell.ts';
import type { Method, PercentileRule, Timer } from '../records/harness.ts';

/** Queries that trtexec keeps in flight per stream: one runs, and the next one is already enqueued. */
const QUERIES_AHEAD = 2;

/** The method of trtexec. Source: sampleInference.cpp and sampleReporting.cpp of NVIDIA/TensorRT. */
export function trtexecMethod(
  cell: Pick<Cell, 'dataTransfers' | 'streams'> | null,
  argv: readonly string[] | null,
  facts: Pick<Method, 'harnessVersion' | 'warmUpRuns' | 'timedRuns'>,
): Method {
  const ahead = argv?.includes('--exposeDMA') === true ? 1 : QUERIES_AHEAD;
  return {
    harness: 'trtexec',
    harnessVersion: facts.harnessVersion,
    timer: 'cudaEvent',
    inFlight: ahead * (cell?.streams ?? 1),
    percentileRule: 'orderStatistic',
    transfers: cell?.dataTransfers ?? null,
    warmUpRuns: facts.warmUpRuns,
    timedRuns: facts.timedRuns,
  };
}

const WORDS: Readonly<Record<Timer | PercentileRule, string>> = {
  wall: 'wall clock',
  cudaEvent: 'CUDA events',
  orderStatistic: 'one of the measured times',
  linear: 'interpolated between two times',
  unknown: 'not known',
};

/** The facts of a method in words, one per line and in the same order for every method. */
export function methodWords(method: Method): Readonly<Record<string, string>> {
  const { harness, harnessVersion, inFlight, transfers, warmUpRuns } = method;
  return {
    harness: harnessVersion === null ? harness : `${harness} ${harnessVersion}`,
    timer: WORDS[method.timer],
    'in flight': inFlight === null ? 'not known' : String(inFlight),
    percentiles: WORDS[method.percentileRule],
    transfers: transfers === null ? 'not known' : transfers ? 'included in the time' : 'not included in the time',
    'warm-up': warmUpRuns === null ? 'not known' : `${warmUpRuns} runs`,
  };
}
