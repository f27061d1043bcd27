import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { enginesFolderOf } from '../../files/layout.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { isNamed, writing } from '../../engines/engine-index.ts';
import { UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { MATRIX_DEFAULTS } from '../../records/matrix-defaults.ts';
import { printable } from '../../text/printable.ts';
import type { EngineFolder, KeptEngine } from '../../records/engine.ts';
import { type EnginesGcOutput, engineTitle, enginesText, gcText, heldBytes, shownName } from './text.ts';
import { unfinishedSweepsByEngine, lastGoodBuilds } from '../../store/builds/builds.ts';
import { showRun } from '../../store/runs/show-run.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { listSweeps } from '../../store/sweeps/find-sweeps.ts';
import { keptLastGoodBytesOf } from '../../store/sweeps/sweeps.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { GcOptions, PinOptions, RemoveOptions } from './command.ts';
import type { BuildId } from '../../records/scalars.ts';
import { runByPrefix } from '../../selection/cell-points.ts';

export interface EnginesOptions {
  readonly json?: boolean;
  readonly db?: string;
}

function withEngines(
  options: EnginesOptions,
  io: Io,
  work: (found: EngineFolder, cache: EngineCache, store: OpenStore) => Promise<ExitCode>,
  hashes = false,
): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const cache = new EngineCache(enginesFolderOf(store.path));
    return work(await cache.contents({ hashes }), cache, store);
  });
}

/** @param hashes whether the engines are verified: by default, only their size is compared */
export function showEngines(keys: readonly string[], options: EnginesOptions, io: Io, hashes = false) {
  const show = async (found: EngineFolder): Promise<ExitCode> => {
    const engines = keys.length === 0 ? found.engines : enginesOf(found, keys);
    printResult(io, options, { schemaVersion: 1, ...found, engines }, enginesText);
    return !hashes || engines.every(({ state }) => state === 'asBuilt') ? EXIT_CODES.fine : EXIT_CODES.incomplete;
  };
  return withEngines(options, io, show, hashes);
}

export function pinEngines(keys: readonly string[], isPinned: boolean, options: PinOptions, io: Io): Promise<ExitCode> {
  return withEngines(options, io, async (found, cache, store) => {
    const wanted = keys.map((key) => buildOfRun(store, key) ?? key);
    const engines = enginesOf(found, wanted);
    if (options.timingCache !== undefined) await writeTimingCache(cache, engines, options.timingCache, io);
    const pinnedAt = isPinned ? io.now().toISOString() : null;
    await cache.index.change(({ pins }) => {
      for (const { buildId } of engines) {
        if (pinnedAt === null) delete pins[buildId];
        else pins[buildId] = pinnedAt;
      }
    });
    const what = isPinned ? 'is pinned: gc keeps it' : 'is no longer pinned';
    const changed = engines.map((engine) => ({ ...engine, pinnedAt }));
    return printResult(io, options, { schemaVersion: 1, ...found, engines: changed }, () =>
      changed.map((engine) => `${engineTitle(engine)} ${what}`),
    );
  });
}

/** The build of a run by the start of its ID, as `bench show` prints it. */
function buildOfRun({ db }: OpenStore, key: string): BuildId | null {
  const runId = runByPrefix(db, key);
  return runId === null ? null : (showRun(db, runId)?.buildId ?? null);
}

async function writeTimingCache(cache: EngineCache, engines: readonly KeptEngine[], file: string, io: Io) {
  const [engine, ...more] = engines;
  if (engine === undefined || more.length > 0) {
    throw new UsageError('--timing-cache needs a single build: name KEY-2 or a run');
  }
  const path = resolve(io.cwd, file);
  const bytes = await writing(dirname(path), () => cache.timing.copyKept(engine.sha256, path));
  if (bytes === null) throw new UsageError(`${engineTitle(engine)} has no stored timing cache`);
  const shown = printable(file);
  io.err(`wrote ${shown} (${formatBytes(bytes)}) and ${shown}.json, for build: {timingCache: ${shown}}\n`);
}

/** Removes engines, and unfreezes models that were frozen to them. */
export function removeEngines(keys: readonly string[], options: RemoveOptions, io: Io): Promise<ExitCode> {
  return withEngines(options, io, async (found, cache) => {
    const lost = found.lost.filter(({ name }) => keys.some((key) => isLost(key, name)));
    const engines = enginesOf(
      found,
      keys.filter((key) => !lost.some(({ name }) => isLost(key, name))),
    );
    const pinned = engines.find(({ pinnedAt }) => pinnedAt !== null);
    if (pinned !== undefined && options.force !== true) {
      throw new UsageError(`${engineTitle(pinned)} is pinned: unpin it first, or use --force`);
    }
    const used = engines.find(({ usedBy }) => usedBy.length > 0);
    if (used !== undefined) {
      throw new UsageError(`${engineTitle(used)} is used by process ${used.usedBy.join(', ')}: end it first`);
    }
    await cache.index.change(({ frozen }) => {
      for (const [definition, { name }] of Object.entries(frozen)) {
        if (lost.some((each) => each.name === name)) delete frozen[definition];
      }
    });
    for (const engine of engines) await removeOne(cache, engine);
    return printResult(io, options, { schemaVersion: 1, ...found, engines, lost }, () => [
      ...lost.map(({ name }) => `no build is frozen to ${shownName(name)} any longer`),
      ...engines.map((engine) => `${engineTitle(engine)} is removed`),
    ]);
  });
}

function isLost(key: string, name: string): boolean {
  return key.length >= 4 && name.startsWith(key);
}

async function removeOne(cache: EngineCache, engine: KeptEngine): Promise<void> {
  if (await cache.unlink(engine)) return;
  throw new UsageError(`${engineTitle(engine)} is being built or read by another process: try again`);
}

/** Removes the engines unused for longest until the others fit. */
export function collectEngines(options: GcOptions, io: Io): Promise<ExitCode> {
  return withEngines(options, io, async ({ engines, folder, loose, timingCacheBytes }, cache, store) => {
    const isDryRun = options.dryRun === true;
    const lastGood = lastGoodBuilds(store.db);
    const [newest] = listSweeps(store.db, 1);
    const ofMatrix = newest === undefined ? null : keptLastGoodBytesOf(store.db, newest.sweepId);
    const spareBytes = options.keepLastGood ?? ofMatrix ?? MATRIX_DEFAULTS.keptLastGoodBytes;
    const heldBecause = await reasonsToKeep(cache, store, lastGood, engines, spareBytes);
    const heldBefore = engines.reduce((sum, engine) => sum + heldBytes(engine), timingCacheBytes);
    const removed: KeptEngine[] = [];
    const kept: EnginesGcOutput['kept'][number][] = [];
    let bytesAfter = heldBefore;
    for (const engine of engines.toReversed()) {
      if (bytesAfter <= options.maxSize) break;
      const because = heldBecause(engine);
      if (because !== null) kept.push({ engine, because });
      else {
        removed.push(engine);
        bytesAfter -= heldBytes(engine);
      }
    }
    if (!isDryRun) {
      await cache.sweepUp();
      await cache.keepFor(store.path, lastGood);
      await cache.removeLoose(loose);
      for (const engine of removed) await removeOne(cache, engine);
    }
    const bytesBefore = loose.reduce((sum, { bytes }) => sum + bytes, heldBefore);
    const sizes = { bytesBefore, bytesAfter, maxBytes: options.maxSize };
    const removals = { isDryRun, removed, removedFiles: loose, kept };
    const output: EnginesGcOutput = { schemaVersion: 1, folder, ...sizes, ...removals };
    return printResult(io, options, output, gcText);
  });
}

/**
 * Why an engine may not be removed; null when it may.
 * @param lastGood builds with which this store may compare newer ones, newest first; those that fit into `spareBytes`
 * stay
 */
async function reasonsToKeep(
  cache: EngineCache,
  { db, path }: OpenStore,
  lastGood: readonly BuildId[],
  engines: readonly KeptEngine[],
  spareBytes: number,
): Promise<(engine: KeptEngine) => string | null> {
  const unfinished = unfinishedSweepsByEngine(db);
  const sizes = new Map(engines.map((engine) => [engine.buildId, heldBytes(engine)]));
  let leftBytes = spareBytes;
  const spared = lastGood.filter((buildId) => {
    leftBytes -= sizes.get(buildId) ?? 0;
    return leftBytes >= 0;
  });
  const byStore = Object.entries((await cache.index.read()).lastGood);
  const others = byStore.filter(([store]) => store !== path && existsSync(store));
  return ({ buildId, frozenSince, key, pinnedAt, usedBy }) => {
    const sweepId = unfinished.get(key);
    if (usedBy.length > 0) return `process ${usedBy.join(', ')} uses it`;
    if (pinnedAt !== null) return 'it is pinned';
    if (frozenSince !== null) return 'a build is frozen to it';
    if (sweepId !== undefined) return `sweep ${sweepId.slice(0, 8)} is not finished`;
    if (spared.includes(buildId)) return 'a cell may be compared with it (--keep-last-good)';
    const [other] = others.find(([, builds]) => builds.includes(buildId)) ?? [];
    return other === undefined ? null : `a cell of ${printable(other)} may be compared with it`;
  };
}

/** @throws UsageError for a key that names no engine, or more than one */
function enginesOf(found: EngineFolder, keys: readonly string[]): KeptEngine[] {
  const named = keys.flatMap((key) => {
    const engines = found.engines.filter((engine) => isNamed(key, { ...engine, engineKey: engine.key }));
    const [first] = engines;
    if (first === undefined) {
      throw new UsageError(`no engine ${printable(key)}: \`bench ls engines\` shows their keys`);
    }
    if (engines.some((engine) => engine.key !== first.key)) {
      throw new UsageError(`${printable(key)} is the beginning of several keys: write more of it`);
    }
    return engines;
  });
  return [...new Set(named)];
}
