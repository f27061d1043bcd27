/** A whole GPU, or a MIG device of one: what a process is given to work on. */
export interface GpuDevice {
  /** `GPU-…`, or `MIG-…`. */
  readonly uuid: string;
  /** `NVIDIA H200`; of a MIG device with its profile: `NVIDIA H200 MIG 1g.18gb`. */
  readonly name: string;
  /** nvidia-smi's number of the GPU. */
  readonly index: number;
  /** The GPU that a MIG device is a part of; else the same as `uuid`. */
  readonly boardUuid: string;
}

/** As short as it can be told: `GPU 2`, or `GPU 2 MIG-1a2b3c4d`. */
export function deviceLabel({ boardUuid, index, uuid }: GpuDevice): string {
  return uuid === boardUuid ? `GPU ${index}` : `GPU ${index} ${uuid.slice(0, 12)}`;
}
