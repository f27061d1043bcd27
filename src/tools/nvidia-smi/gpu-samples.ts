import type { TelemetrySample } from '../../records/telemetry.ts';

/** The samples of one of the GPUs that a file tells of. */
export interface GpuSamples {
  readonly uuid: string | null;
  /** nvidia-smi's own number; null when the file names none. */
  readonly index: number | null;
  readonly samples: readonly TelemetrySample[];
}

/** One line of a file, with the GPU that it is about. */
export interface SampledLine {
  readonly uuid: string | null;
  readonly index: number | null;
  readonly sample: TelemetrySample;
}

export function byGpu(lines: readonly SampledLine[]): GpuSamples[] {
  const groups = Map.groupBy(lines, ({ uuid, index }) => uuid ?? index);
  return [...groups.values()].map((group) => ({
    uuid: group[0]?.uuid ?? null,
    index: group[0]?.index ?? null,
    samples: group.map(({ sample }) => sample),
  }));
}

/**
 * The samples of the GPU that a run used. A MIG device has an id of its own, and samples are of the whole GPU: with one
 * GPU there is no doubt. None when it is not told which of several it was, or that it was another one.
 */
export function samplesOf(gpus: readonly GpuSamples[], uuid: string | null): readonly TelemetrySample[] {
  const isWholeGpu = uuid?.startsWith('GPU-') === true;
  const named = isWholeGpu ? gpus.find((gpu) => gpu.uuid === uuid) : undefined;
  if (named !== undefined) return named.samples;
  const [only, ...others] = gpus;
  if (only === undefined || others.length > 0) return [];
  return isWholeGpu && only.uuid !== null ? [] : only.samples;
}
