import type { EngineCache } from './engine-cache.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import { isFine } from '../records/outcome.ts';
import { formatTensorrtVersion } from '../text/version.ts';

/**
 * Takes the engine of a finished build into the cache. Everything that its note says stands in `run.json` and in the
 * log: after a kill the next bench can do it as well.
 */
export async function adoptBuilt(cache: EngineCache, { log, manifest, outcome }: ReadRun): Promise<void> {
  const { build, buildId, engineKey, engineSha256, environment, role } = manifest;
  if (role !== 'build' || !isFine(outcome)) return;
  if (engineKey === null || engineSha256 === null || buildId === null) return;
  await cache.adopt({
    schemaVersion: 1,
    engineKey,
    buildId,
    sha256: engineSha256,
    bytes: manifest.engineBytes ?? 0,
    number: build?.number ?? 1,
    model: build?.model ?? null,
    precision: build?.precision ?? null,
    modelSha256: build?.modelSha256 ?? null,
    flags: build?.flags ?? [],
    gpuName: log.device.name ?? environment.gpuName ?? null,
    computeCapability: log.device.computeCapability ?? environment.computeCapability ?? null,
    tensorrt: log.tensorrtVersion === null ? null : formatTensorrtVersion(log.tensorrtVersion),
    tensorrtLibrary: environment.tensorrtLibrary ?? null,
    driver: environment.driver ?? null,
    provenance: manifest.provenance,
    builtAt: manifest.startedAt,
    buildS: log.build.engineBuiltS,
    wallS: manifest.wallS,
    timingCacheSha256: manifest.timingCacheSha256,
    variant: manifest.variant,
  });
}
