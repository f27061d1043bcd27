import type { RunFlag } from '../../records/run-flag.ts';
import type { TrtexecRun } from '../log/parsed-log.ts';
import type { FitnessFacts } from './facts.ts';

/** From TensorRT 11.0 on, the profiled run is always separate, after the summary. */
const ALWAYS_SEPARATE = 11;

/** With `--separateProfileRun` the profiler is attached after the summary was printed: the times are valid. */
export function timedUnderProfiler(log: TrtexecRun, hasProfile: boolean): boolean {
  const { profile, exportProfile, separateProfiling } = log.options;
  const isProfiled =
    log.profile !== null || profile === true || exportProfile !== null || (profile === null && hasProfile);
  const isSeparate = separateProfiling === true || (log.tensorrtVersion?.major ?? 0) >= ALWAYS_SEPARATE;
  return isProfiled && !(isSeparate && log.measurement !== null);
}

/** By its log; variables that say so are of `marked`. */
export function profiled({ log }: Pick<FitnessFacts, 'log'>): RunFlag | null {
  const nsys = log.hints.find(({ id }) => id === 'nsys');
  if (!timedUnderProfiler(log, false) && nsys === undefined) return null;
  const option = log.options.exportProfile === null ? '--dumpProfile' : '--exportProfile';
  const evidence =
    nsys === undefined
      ? `it was timed with trtexec's profiler attached (${option})`
      : `it ran under Nsight Systems: ${nsys.text}`;
  return { id: 'profilingOn', effect: 'barred', value: null, evidence };
}
