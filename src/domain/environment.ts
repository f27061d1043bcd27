/** What a number is worth depends on these. A change of one splits a history. Null: not known. */
export interface Environment {
  readonly gpuName: string | null;
  readonly gpuUuid: string | null;
  readonly computeCapability: string | null;
  readonly gpuMemoryMib: number | null;
  readonly driver: string | null;
  readonly cuda: string | null;
  /** Version of the trtexec binary, from its marker. */
  readonly tensorrt: string | null;
  readonly host: string | null;
  readonly cpu: string | null;
  readonly os: string | null;
}

export const UNKNOWN_ENVIRONMENT: Environment = {
  gpuName: null,
  gpuUuid: null,
  computeCapability: null,
  gpuMemoryMib: null,
  driver: null,
  cuda: null,
  tensorrt: null,
  host: null,
  cpu: null,
  os: null,
};
