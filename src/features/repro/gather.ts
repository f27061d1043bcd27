import { type KeyedCell, variablesOf } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { type PlannedBuild, type PlannedRun, PLACEHOLDERS } from '../../records/plan.ts';
import type {
  HashedFile,
  LeftOutVariables,
  ReproCommand,
  ReproConversion,
  Reproduction,
  ReproModel,
  ReproStart,
} from './reproduction.ts';
import { NO_GIT } from '../../records/sweep.ts';
import { isSecret } from '../../text/secret-name.ts';
import { stringOrNull } from '../../text/unknown-values.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import { foreignWords, type LocalNames, localWords, programPlace } from './reproduction.ts';
import { isStoredVariable } from '../../process/environment-variables.ts';
import { buildRunOf } from '../../store/builds/builds.ts';
import { importedBuilds } from '../../store/builds/loaded-engines.ts';
import { flagValue } from '../../trtexec/flags/flag-table.ts';
import { findCells } from '../../store/cells.ts';
import { findBuilds } from '../../store/sweeps/environments.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { showRun, type ShownRun } from '../../store/runs/show-run.ts';
import { findSweep, planOf } from '../../store/sweeps/sweeps.ts';
import { storedRun } from '../../selection/by-name.ts';
import { cachedEngine, drawnInputs, factsOf, hashOrNull, inputFiles, modelOf } from './sources.ts';
import { processOf, type StartedProcess } from './sources.ts';
import type { RunId } from '../../records/scalars.ts';

/** What is known of a run before it is said how to repeat it. */
interface Known {
  readonly db: StoreDatabase;
  readonly cwd: string;
  readonly plan: StoredPlan | null;
  /** The process of the run, and that which built its engine: the same for a build. */
  readonly own: StartedProcess;
  readonly builder: StartedProcess | null;
  /** What the plan of the sweep says of the run and of its engine. */
  readonly plannedRun: PlannedRun | null;
  readonly plannedBuild: PlannedBuild | null;
}

export async function gatherReproduction(store: OpenStore, runId: RunId, cwd: string): Promise<Reproduction> {
  const { db, path } = store;
  const shown = storedRun(db, runId);
  const { cellKey, environment, provenance, repeat, role, sweepId } = shown;
  const sweep = findSweep(db, sweepId);
  const plan = readStoredPlan(planOf(db, sweepId));
  const own = await processOf(shown, path, plan);
  const built = role === 'build' ? null : (buildRunOf(db, runId) ?? importedBuildOf(db, shown));
  const builder = role === 'build' ? own : await builderOf(store, built?.runId ?? null);
  const cell = cellKey === null ? null : (findCells(db, [cellKey]).get(cellKey) ?? null);
  const planned = plannedRunOf(plan, shown);
  const known = {
    db,
    cwd,
    plan,
    own,
    builder,
    plannedRun: planned,
    plannedBuild: plannedBuildOf(plan, shown, planned),
  };
  const conversion = await conversionOf(known);
  const isReplayed = own.recordingSet !== null;
  const harness = cell?.harness?.name ?? null;
  const names = { isVariant: conversion !== null, isGiven: false };
  const build = builder === null ? plannedCommand(known, names) : commandOf(builder, names);
  const isGiven = build === null && (own.argv?.some((argument) => argument.startsWith('--loadEngine=')) ?? false);
  const start = startOf(known);
  const axisEnv = axisVariables(known, cell);
  const { commit, branch, dirty } = sweep ?? NO_GIT;
  const engineSha256 = isReplayed ? null : hashOrNull(shown.engineSha256);
  return {
    runId,
    sweepId,
    repeat,
    label: cell === null ? `build of ${known.plannedBuild?.label ?? 'an engine'}` : cellLabel(cell),
    role,
    provenance,
    harness,
    start,
    axisEnv,
    startedAt: own.startedAt,
    source: own.source,
    conversion,
    build,
    run: role === 'build' ? null : commandOf(own, { ...names, isGiven }, harness),
    commandLine: own.commandLine,
    model: harness === null ? await modelFor(known, conversion) : null,
    engine: { sha256: engineSha256, isGiven, cachedPath: await cachedEngine(path, engineSha256) },
    trtexec: isReplayed || harness !== null ? null : trtexecOf(known),
    inputs: inputFiles(cell?.inputs ?? null, own.argv ?? []),
    timingCacheSha256: hashOrNull(builder?.read?.manifest.timingCacheSha256 ?? null),
    environment,
    clockPolicy: stringOrNull(environment['clockPolicy']),
    git: { commit, branch, dirty },
    toolVersion: sweep?.toolVersion ?? '',
    ...visibleVariables(own.env, { ...start?.env, ...axisEnv }, start?.withheld.length ?? 0),
    notes: [
      ...own.notes,
      ...(builder === own ? [] : (builder?.notes ?? [])),
      ...(built?.isSameBuild === false ? [OTHER_BUILD] : []),
      ...(builder === null && build !== null ? [ONLY_PLANNED] : []),
    ],
  };
}

/** The imported build that saved the engine file which this run loaded. */
function importedBuildOf(db: StoreDatabase, { argv, sweepId }: ShownRun) {
  const path = flagValue(argv ?? [], '--loadEngine');
  const build = path === null ? undefined : importedBuilds(db, [sweepId]).get(path);
  return build === undefined ? null : { runId: build.runId, isSameBuild: true };
}

const OTHER_BUILD = 'the build of this very engine is not in the store: the build below is of the same model and flags';
const ONLY_PLANNED = 'the build is not in the store: the build below is what the plan of the sweep states';

async function builderOf(store: OpenStore, runId: RunId | null): Promise<StartedProcess | null> {
  const run = runId === null ? null : showRun(store.db, runId);
  return run && processOf(run, store.path, readStoredPlan(planOf(store.db, run.sweepId)));
}

function commandOf(
  { argv, run }: StartedProcess,
  names: LocalNames,
  harness: string | null = null,
): ReproCommand | null {
  if (argv === null) return null;
  return { argv, words: harness === null ? localWords(argv, names) : foreignWords(argv), runId: run.runId };
}

function plannedCommand({ plan, plannedBuild }: Known, names: LocalNames): ReproCommand | null {
  if (plannedBuild === null || plannedBuild.args.length === 0) return null;
  const argv = [plan?.program.trtexec ?? 'trtexec', ...plannedBuild.args];
  return { argv, words: localWords(argv, names), runId: null };
}

const VARIABLE = /^[A-Za-z_]\w*$/;

function startOf({ own, plannedRun }: Known): ReproStart | null {
  if (plannedRun === null || plannedRun.harness === null) return null;
  const { argv, cwd, env } = plannedRun.harness;
  const shown = withoutSecrets(env);
  const withheld = Object.keys(env).filter((name) => !(name in shown) && VARIABLE.test(name));
  return { argv: own.argv ?? argv, cwd, env: shown, withheld };
}

function withoutSecrets(variables: Readonly<Record<string, string | null>>): Record<string, string | null> {
  const shown = Object.entries(variables).filter(
    ([name, value]) => VARIABLE.test(name) && (value === null || !isSecret(name, value)),
  );
  return Object.fromEntries(shown);
}

/** Runs added during the sweep are not in the plan: they equal the others of their cell. */
function plannedRunOf(plan: StoredPlan | null, { cellKey, repeat, role }: ShownRun): PlannedRun | null {
  const ofCell = (plan?.plan.runs ?? []).filter((run) => run.cellKey === cellKey && run.role === role);
  return ofCell.find((run) => run.repeat === repeat) ?? ofCell[0] ?? null;
}

function plannedBuildOf(
  plan: StoredPlan | null,
  { argv, cellKey, role }: ShownRun,
  planned: PlannedRun | null,
): PlannedBuild | null {
  const { builds, cells } = plan?.plan ?? { builds: [], cells: [] };
  if (role === 'build') {
    const stated = new Set(argv ?? []);
    const placeholders = Object.values(PLACEHOLDERS);
    const fits = ({ args }: PlannedBuild): boolean =>
      args.length > 0 &&
      args.every((argument) => stated.has(argument) || placeholders.some((end) => argument.endsWith(end)));
    return builds.find(fits) ?? null;
  }
  const ref = planned?.buildRef ?? cells.find(({ cell }) => cell.key === cellKey)?.buildRef;
  return builds.find(({ buildRef }) => buildRef === ref) ?? null;
}

async function conversionOf({ builder, cwd, own, plan, plannedBuild }: Known): Promise<ReproConversion | null> {
  const stated = own.read?.manifest.variant ?? builder?.read?.manifest.variant ?? null;
  const variant = plan?.plan.variants.find(({ variantRef }) => variantRef === plannedBuild?.variantRef);
  if (stated === null && variant === undefined) return null;
  const isHashed = stated !== null && [stated.sha256, stated.baseSha256].every((text) => hashOrNull(text));
  const record = isHashed ? stated : null;
  if (variant === undefined) return { record, basePath: null, args: null, calibration: null, drawn: null };
  const { args, calibration, onnxPath } = variant;
  const facts = calibration?.kind === 'random' ? await factsOf(onnxPath, cwd) : null;
  return { record, basePath: onnxPath, args, calibration, drawn: drawnInputs(variant, facts) };
}

async function modelFor(
  { builder, cwd, db, own, plannedBuild }: Known,
  conversion: ReproConversion | null,
): Promise<ReproModel | null> {
  const option = '--onnx=';
  const argv = [...(builder?.argv ?? []), ...(own.argv ?? [])];
  const built = argv.find((argument) => argument.startsWith(option))?.slice(option.length);
  const path = conversion === null ? (built ?? plannedBuild?.onnxPath ?? null) : conversion.basePath;
  if (path === null) return null;
  const ids = [builder?.run.buildId, own.run.buildId].flatMap((id) => id ?? []);
  const builds = findBuilds(db, ids);
  const stored = ids.flatMap((id) => builds.get(id)?.modelSha256 ?? [])[0] ?? null;
  const sha256 = conversion === null ? stored : (conversion.record?.baseSha256 ?? null);
  return modelOf(path, own.recordingSet === null ? hashOrNull(sha256) : null, await factsOf(path, cwd));
}

function trtexecOf({ own, plan }: Known): HashedFile | null {
  const path = plan?.program.trtexec ?? own.argv?.[programPlace(own.argv)] ?? null;
  return path === null ? null : { path, sha256: hashOrNull(plan?.program.trtexecSha256 ?? null) };
}

/** Axis variables, which are stored with the run as part of its cell. */
function axisVariables({ own, plannedRun }: Known, cell: KeyedCell | null): Record<string, string | null> {
  const names = new Set(Object.keys(variablesOf(cell?.axisFlags ?? {})));
  const stored = Object.entries(own.run.env).filter(([name]) => names.has(name));
  return withoutSecrets({ ...Object.fromEntries(stored), ...plannedRun?.env });
}

/**
 * @param elsewhere variables that are shown in another place
 * @param withheld how many of those are not shown at all
 */
function visibleVariables(
  stored: Readonly<Record<string, string>>,
  elsewhere: Readonly<Record<string, string | null>>,
  withheld: number,
): LeftOutVariables {
  const all = Object.entries(stored).filter(([name]) => !(name in elsewhere));
  const shown = all.filter(([name]) => isStoredVariable(name));
  return { env: Object.fromEntries(shown), withheld: withheld + all.length - shown.length };
}
