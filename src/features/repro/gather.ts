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
import { findCells } from '../../store/cells.ts';
import { findBuilds } from '../../store/sweeps/environments.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { showRun, type ShownRun } from '../../store/runs/show-run.ts';
import { findSweep, planOf } from '../../store/sweeps/sweeps.ts';
import { storedRun } from '../../selection/by-name.ts';
import { cachedEngine, drawnInputs, factsOf, hashOrNull, inputFiles, modelOf } from './sources.ts';
import { processOf, type StartedProcess } from './sources.ts';

/** Everything that it takes to run a stored run again. */
export async function gatherReproduction(store: OpenStore, runId: string, cwd: string): Promise<Reproduction> {
  const { db, path } = store;
  const shown = storedRun(db, runId);
  const sweep = findSweep(db, shown.sweepId);
  const plan = readStoredPlan(planOf(db, shown.sweepId));
  const own = await processOf(shown, path, plan);
  const built = shown.role === 'build' ? null : buildRunOf(db, runId);
  const builder = shown.role === 'build' ? own : await builderOf(store, built?.runId ?? null);
  const planned = plannedBuild(plan, own);
  const conversion = await conversionOf(plan, planned, own, builder, cwd);
  const isReplayed = own.recordingSet !== null;
  const isVariant = conversion !== null;
  const names = { isVariant, isGiven: false };
  const build = builder === null ? plannedCommand(planned, plan, names) : commandOf(builder, names);
  const isGiven = build === null && loadsEngine(own);
  const cell = shown.cellKey === null ? null : (findCells(db, [shown.cellKey]).get(shown.cellKey) ?? null);
  const axisEnv = axisVariables(plan, own, cell);
  const harness = cell?.harness?.name ?? null;
  const start = startOf(plannedRun(plan, shown), own);
  const { commit, branch, dirty } = sweep ?? NO_GIT;
  const engineSha256 = isReplayed ? null : hashOrNull(shown.engineSha256);
  return {
    runId,
    sweepId: shown.sweepId,
    repeat: shown.repeat,
    label: cell === null ? `build of ${planned?.label ?? 'an engine'}` : cellLabel(cell),
    role: shown.role,
    provenance: shown.provenance,
    harness,
    start,
    axisEnv,
    startedAt: own.startedAt,
    source: own.source,
    conversion,
    build,
    run: shown.role === 'build' ? null : runCommand(own, { isVariant, isGiven }, harness),
    commandLine: own.commandLine,
    model: harness !== null ? null : await modelFor(store, { builder, conversion, isReplayed, own, planned }, cwd),
    engine: { sha256: engineSha256, isGiven, cachedPath: await cachedEngine(path, engineSha256) },
    trtexec: isReplayed || harness !== null ? null : trtexecOf(plan, own),
    inputs: inputFiles(cell?.inputs ?? null, own.argv ?? []),
    timingCacheSha256: hashOrNull(builder?.read?.manifest.timingCacheSha256 ?? null),
    environment: shown.environment,
    clockPolicy: stringOrNull(shown.environment['clockPolicy']),
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

const OTHER_BUILD = 'the build of this very engine is not in the store: the build below is of the same model and flags';
const ONLY_PLANNED = 'the build is not in the store: the build below is what the plan of the sweep states';

async function builderOf(store: OpenStore, runId: string | null): Promise<StartedProcess | null> {
  const run = runId === null ? null : showRun(store.db, runId);
  if (run === null) return null;
  return processOf(run, store.path, readStoredPlan(planOf(store.db, run.sweepId)));
}

function commandOf({ argv, run }: StartedProcess, names: LocalNames): ReproCommand | null {
  return argv === null ? null : { argv, words: localWords(argv, names), runId: run.runId };
}

function runCommand(process: StartedProcess, names: LocalNames, harness: string | null): ReproCommand | null {
  const { argv, run } = process;
  if (harness === null || argv === null) return commandOf(process, names);
  return { argv, words: foreignWords(argv), runId: run.runId };
}

function plannedCommand(planned: PlannedBuild | null, plan: StoredPlan | null, names: LocalNames): ReproCommand | null {
  if (planned === null || planned.args.length === 0) return null;
  const argv = [plan?.program.trtexec ?? 'trtexec', ...planned.args];
  return { argv, words: localWords(argv, names), runId: null };
}

function loadsEngine({ argv }: StartedProcess): boolean {
  return argv?.some((argument) => argument.startsWith('--loadEngine=')) ?? false;
}

const VARIABLE = /^[A-Za-z_]\w*$/;

function startOf(planned: PlannedRun | null, own: StartedProcess): ReproStart | null {
  if (planned === null || planned.harness === null) return null;
  const { argv, cwd, env } = planned.harness;
  const shown = withoutSecrets(Object.entries(env));
  const withheld = Object.keys(env).filter((name) => !(name in shown) && VARIABLE.test(name));
  return { argv: own.argv ?? argv, cwd, env: shown, withheld };
}

function withoutSecrets(variables: readonly (readonly [string, string | null])[]): Record<string, string | null> {
  return Object.fromEntries(
    variables.filter(([name, value]) => VARIABLE.test(name) && (value === null || !isSecret(name, value))),
  );
}

function plannedRun(plan: StoredPlan | null, run: ShownRun): PlannedRun | null {
  const ofCell = (plan?.plan.runs ?? []).filter(({ cellKey, role }) => cellKey === run.cellKey && role === run.role);
  // Runs that were added in the course of the sweep are in no plan: they are like the others of their cell.
  return ofCell.find(({ repeat }) => repeat === run.repeat) ?? ofCell[0] ?? null;
}

/** What the plan of the sweep says of the engine that a run built or loaded. */
function plannedBuild(plan: StoredPlan | null, { run }: StartedProcess): PlannedBuild | null {
  if (plan === null) return null;
  const { builds, cells } = plan.plan;
  if (run.role === 'build') {
    const argv = new Set(run.argv ?? []);
    const fits = ({ args }: PlannedBuild): boolean =>
      args.every((argument) => isPlaceholder(argument) || argv.has(argument));
    return builds.find((build) => build.args.length > 0 && fits(build)) ?? null;
  }
  const planned = plannedRun(plan, run);
  // Runs that were added in the course of the sweep are in no plan.
  const ref = planned?.buildRef ?? cells.find(({ cell }) => cell.key === run.cellKey)?.buildRef;
  return builds.find(({ buildRef }) => buildRef === ref) ?? null;
}

function isPlaceholder(argument: string): boolean {
  return Object.values(PLACEHOLDERS).some((placeholder) => argument.endsWith(placeholder));
}

async function conversionOf(
  plan: StoredPlan | null,
  planned: PlannedBuild | null,
  own: StartedProcess,
  builder: StartedProcess | null,
  cwd: string,
): Promise<ReproConversion | null> {
  const stated = own.read?.manifest.variant ?? builder?.read?.manifest.variant ?? null;
  const variant = plan?.plan.variants.find(({ variantRef }) => variantRef === planned?.variantRef);
  if (stated === null && variant === undefined) return null;
  const isHashed = stated !== null && [stated.sha256, stated.baseSha256].every((text) => hashOrNull(text));
  const record = isHashed ? stated : null;
  if (variant === undefined) {
    return { record, basePath: null, args: null, calibration: null, drawn: null };
  }
  const { args, calibration, onnxPath } = variant;
  const facts = calibration?.kind === 'random' ? await factsOf(onnxPath, cwd) : null;
  return { record, basePath: onnxPath, args, calibration, drawn: drawnInputs(variant, facts) };
}

interface ModelSource {
  readonly own: StartedProcess;
  readonly builder: StartedProcess | null;
  readonly planned: PlannedBuild | null;
  readonly conversion: ReproConversion | null;
  readonly isReplayed: boolean;
}

/** The model that the engine was built from, or that was converted to it. */
async function modelFor(
  { db }: OpenStore,
  { builder, conversion, isReplayed, own, planned }: ModelSource,
  cwd: string,
): Promise<ReproModel | null> {
  const option = '--onnx=';
  const argv = [...(builder?.argv ?? []), ...(own.argv ?? [])];
  const built = argv.find((argument) => argument.startsWith(option))?.slice(option.length);
  const base = conversion === null ? (built ?? planned?.onnxPath) : conversion.basePath;
  const path = base ?? null;
  if (path === null) return null;
  const ids = [builder?.run.buildId, own.run.buildId].flatMap((id) => id ?? []);
  const builds = findBuilds(db, ids);
  const stored = ids.flatMap((id) => builds.get(id)?.modelSha256 ?? [])[0] ?? null;
  const sha256 = conversion === null ? stored : (conversion.record?.baseSha256 ?? null);
  return modelOf(path, isReplayed ? null : hashOrNull(sha256), await factsOf(path, cwd));
}

function trtexecOf(plan: StoredPlan | null, { argv }: StartedProcess): HashedFile | null {
  const place = programPlace(argv ?? []);
  const path = plan?.program.trtexec ?? argv?.[place] ?? null;
  if (path === null) return null;
  return { path, sha256: hashOrNull(plan?.program.trtexecSha256 ?? null) };
}

/** Those of the matrix, which are stored with the run because they tell its cell from others. */
function axisVariables(
  plan: StoredPlan | null,
  { run }: StartedProcess,
  cell: KeyedCell | null,
): Readonly<Record<string, string | null>> {
  const names = Object.keys(variablesOf(cell?.axisFlags ?? {}));
  const stored = names.flatMap((name): [string, string][] => {
    const value = run.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const planned = plannedRun(plan, run)?.env ?? {};
  return withoutSecrets([...stored, ...Object.entries(planned)]);
}

function visibleVariables(
  stored: Readonly<Record<string, string>>,
  told: Readonly<Record<string, string | null>>,
  untold: number,
): LeftOutVariables {
  const all = Object.entries(stored).filter(([name]) => !(name in told));
  const shown = all.filter(([name]) => isStoredVariable(name));
  return { env: Object.fromEntries(shown), withheld: untold + all.length - shown.length };
}
