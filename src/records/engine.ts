export const ENGINE_STATES = ['asBuilt', 'unchecked', 'changed', 'missing'] as const;

/** What of an engine's bytes is known; `unchecked` when only their number was looked at. */
export type EngineBytesState = (typeof ENGINE_STATES)[number];

/** An engine in the cache, as people and programs are told of it. */
export interface StoredEngine {
  /** Of its files: the key, and `-2` behind it for the second build of that key. */
  readonly name: string;
  readonly key: string;
  readonly number: number;
  readonly buildId: string;
  readonly sha256: string;
  readonly path: string;
  readonly bytes: number;
  readonly state: EngineBytesState;
  readonly model: string | null;
  readonly precision: string | null;
  readonly modelSha256: string | null;
  readonly flags: readonly string[];
  readonly gpuName: string | null;
  readonly computeCapability: string | null;
  readonly tensorrt: string | null;
  readonly tensorrtLibrary: string | null;
  readonly driver: string | null;
  readonly provenance: string | null;
  readonly builtAt: string | null;
  readonly buildS: number | null;
  readonly wallS: number | null;
  readonly timingCacheSha256: string | null;
  readonly lastUsedAt: string | null;
  readonly pinnedAt: string | null;
  readonly frozenSince: string | null;
  /** Processes that work with it now. */
  readonly usedBy: readonly number[];
}

/** A file in the folder that belongs to no engine: what a kill or a check left behind. */
export interface LooseFile {
  readonly path: string;
  readonly bytes: number;
}

export interface EngineFolder {
  readonly folder: string;
  readonly engines: readonly StoredEngine[];
  readonly loose: readonly LooseFile[];
  readonly timingCacheBytes: number;
  /** Frozen builds whose engine is not there any more. */
  readonly lost: readonly { readonly name: string; readonly since: string }[];
}

export function engineLabel({ model, precision, number }: StoredEngine): string {
  const words = [model ?? 'unknown', precision === 'unstated' ? null : precision];
  const build = number === 1 ? '' : ` #${number}`;
  return `${words.filter((word) => word !== null).join(' ')}${build}`;
}
