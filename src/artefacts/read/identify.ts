import { basename } from 'node:path';

import { plainName } from '../../files/files.ts';
import { type KeyedCell, keyedCell } from '../../records/cell.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import { type Outcome, outcomeReason } from '../../records/outcome.ts';
import type { RunRecord, RunRole, RunTry } from '../../records/run.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { cellOfRun, modelOfLog } from '../../trtexec/cell-of-run.ts';
import { timedUnderProfiler } from '../../trtexec/fitness/facts.ts';
import type { ReadRun } from './read-run.ts';
import type { RunManifest } from '../run-manifest.ts';

type Identity = Pick<RunRecord, 'artefactFolder' | 'repeat' | 'runId' | 'sweepId'>;

export function toRunRecord(read: ReadRun, identity: Identity): RunRecord {
  const { path: _path, index: _index, contentId: _contentId, sources: _sources, manifest, ...measured } = read;
  const { argv, build, buildId, engineKey, engineSha256, env, wallS } = manifest;
  const { exitCode, signal, timedOut, limit, cancelled, logTooLong, neighborEnded } = manifest;
  const stated = { argv, build, buildId, engineKey, engineSha256, env, wallS };
  const role = roleOf(read);
  return {
    ...identity,
    ...measured,
    ...stated,
    role,
    cell: role === 'build' ? null : cellOf(read),
    provenance: manifest.provenance ?? 'imported',
    environment: environmentOf(read),
    startedAt: startOf(read),
    process: { exitCode, signal, timedOut, limit, cancelled, logTooLong, neighborEnded },
    tries: triesOf(read),
  };
}

function triesOf(read: ReadRun): RunTry[] {
  const { attempt, tries, wallS } = read.manifest;
  const startedAt = startOf(read);
  if (attempt === null || startedAt === null) return [];
  const endedMs = Date.parse(startedAt) + (wallS ?? 0) * 1000;
  return [...tries, tryOf(read.outcome, attempt, startedAt, new Date(endedMs).toISOString())];
}

export function tryOf(outcome: Outcome, attempt: number, startedAt: string, endedAt: string): RunTry {
  const evidence = outcome.evidence[0]?.text ?? null;
  return { attempt, startedAt, endedAt, outcome: outcome.kind, reason: outcomeReason(outcome), evidence };
}

export function roleOf({ manifest, log, exports }: ReadRun): RunRole {
  if (manifest.role !== null) return manifest.role;
  const isToSkip = manifest.argv?.some((part) => ['--skipInference', '--buildOnly'].includes(part)) === true;
  if (log.build.inferenceSkipped || log.options.skipInference === true || isToSkip) return 'build';
  return timedUnderProfiler(log, exports.profile !== null) ? 'profile' : 'timed';
}

export function cellOf(run: ReadRun): KeyedCell {
  const { log, manifest } = run;
  const { argv, cell } = manifest;
  if (cell !== null && 'inputs' in cell) return keyedCell(cell);
  return keyedCell(cellOfRun(cell ?? {}, argv, log, fileNameOf(run)));
}

/** Whether neither the log nor the user names a model or an engine. The cell then takes the name of the file. */
export function isUnnamed(run: ReadRun): boolean {
  const { log, manifest } = run;
  const isOfModel = manifest.cell?.model !== undefined || modelOfLog(manifest.argv, log) !== null;
  return fileNameOf(run) !== undefined && !isOfModel;
}

/** A run folder and standard input have no file name. */
function fileNameOf({ harness, path, sources }: ReadRun): string | undefined {
  const isLog = harness === null && sources?.get(path) === 'stdout.log';
  return isLog ? plainName(basename(path)).replace(/\.(?:log|txt|out|err)$/, '') : undefined;
}

function environmentOf({ harness, manifest, log }: ReadRun): Environment {
  const stated = manifest.environment;
  const { name, uuid, computeCapability, globalMemoryMib } = log.device;
  const tensorrt = log.tensorrtVersion === null ? null : formatTensorrtVersion(log.tensorrtVersion);
  // On a machine with several GPUs only trtexec knows which one it used.
  const isOther = uuid !== null && stated.gpuUuid !== undefined && stated.gpuUuid !== uuid;
  return {
    ...UNKNOWN_ENVIRONMENT,
    ...known({ tensorrt, computeCapability, gpuMemoryMib: globalMemoryMib }),
    ...known(stated),
    ...known({ gpuName: name, gpuUuid: uuid }),
    ...(isOther ? { gpuMemoryMib: globalMemoryMib, computeCapability } : {}),
    harness: harness?.method.harnessVersion ? `${harness.method.harness} ${harness.method.harnessVersion}` : null,
  };
}

function known(facts: { readonly [Key in keyof Environment]?: Environment[Key] | undefined }): Partial<Environment> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * ISO 8601, UTC. A plain log has local time without a zone, which counts as UTC: the order matters more than the hour.
 */
export function startOf({ manifest, log }: ReadRun): string | null {
  return statedStart(manifest) ?? (log.startedAtLocal === null ? null : `${log.startedAtLocal}.000Z`);
}

export function statedStart({ startedAt }: RunManifest): string | null {
  const instant = new Date(startedAt ?? Number.NaN);
  return Number.isNaN(instant.getTime()) ? null : instant.toISOString();
}
