import { join, posix, resolve } from 'node:path';

import { artefactsFolderOf, enginesFolderOf, runFolderOf } from '../../artefacts/layout.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import { packageFolder } from '../../cli/store-location.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { isStoredVariable } from '../../process/environment-variables.ts';
import { type KeyedCell, variablesOf } from '../../records/cell.ts';
import { type PlannedBuild, type PlannedRun, PLACEHOLDERS } from '../../records/plan.ts';
import type { RunId } from '../../records/scalars.ts';
import { NO_GIT } from '../../records/sweep.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import { storedRun } from '../../selection/by-name.ts';
import { buildRunOf } from '../../store/builds/builds.ts';
import { importedBuilds } from '../../store/builds/loaded-engines.ts';
import { findCells } from '../../store/cells.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { showRun, type ShownRun } from '../../store/runs/show-run.ts';
import { findBuilds } from '../../store/sweeps/environments.ts';
import { findSweep, planOf } from '../../store/sweeps/sweeps.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { isSecret } from '../../text/secret-name.ts';
import { stringOrNull } from '../../text/unknown-values.ts';
import { instantOf } from '../../text/utc-instant.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { flagValue } from '../../trtexec/flags/flag-table.ts';
import type { ReproOutput } from './output.ts';

const OTHER_BUILD = 'the build of this very engine is not in the store: the build below is of the same model and flags';
const ONLY_PLANNED = 'the build is not in the store: the build below is what the plan of the sweep states';
const NO_RECORDING = 'the recording that answered is not here: the command line is what bench asked it';

/** All that the store, the artefacts and the recording say of how to repeat a run. */
export async function gatherReproduction(store: OpenStore, runId: RunId, cwd: string): Promise<ReproOutput> {
  const { db, path } = store;
  const own = await startedFor(store, storedRun(db, runId));
  const { cellKey, environment, provenance, repeat, role, sweepId } = own.run;
  const { plan } = own;
  const built = role === 'build' ? null : (buildRunOf(db, runId) ?? importedBuildOf(db, own.run));
  const buildRun = built && showRun(db, built.runId);
  const builder = role === 'build' ? own : buildRun && (await startedFor(store, buildRun));
  const cell = cellKey === null ? null : (findCells(db, [cellKey]).get(cellKey) ?? null);
  const harness = cell?.harness?.name ?? null;
  const plannedRun = plannedRunOf(plan, own.run);
  const plannedBuild = plannedBuildOf(plan, own.run, plannedRun);
  const conversion = conversionOf(own, builder, plannedBuild);
  const planned = plannedBuild === null || plannedBuild.args.length === 0 ? null : plannedBuild.args;
  const buildArgv = builder?.argv ?? (planned && [plan?.program.trtexec ?? 'trtexec', ...planned]);
  const isGiven = buildArgv === null && (own.argv ?? []).some((argument) => argument.startsWith('--loadEngine='));
  const names = { conversion, engine: { isGiven }, harness };
  const commandOf = (argv: readonly string[] | null, from: RunId | null) =>
    argv && { argv: [...argv], localArgv: localWords(argv, names).map(({ head, text }) => head + text), runId: from };
  const start = startOf(plannedRun, own);
  const axisNames = Object.keys(variablesOf(cell?.axisFlags ?? {}));
  const onAxes = Object.entries(own.run.env).filter(([name]) => axisNames.includes(name));
  const axisEnv = withoutSecrets({ ...Object.fromEntries(onAxes), ...plannedRun?.env });
  const others = Object.entries(own.env).filter(([name]) => !(name in { ...start?.env, ...axisEnv }));
  const env = Object.fromEntries(others.filter(([name]) => isStoredVariable(name)));
  const engineSha256 = own.isReplayed ? null : hashOrNull(own.run.engineSha256);
  const sweep = findSweep(db, sweepId);
  const { commit, branch, dirty } = sweep ?? NO_GIT;
  const trtexec = plan?.program.trtexec ?? own.argv?.[programPlace(own.argv)] ?? null;
  const isLost = [own, builder].some((started) => started?.isReplayed === true && started.source === 'stored');
  const found: ReproOutput = {
    schemaVersion: 1,
    runId,
    sweepId,
    repeat,
    label: cell === null ? `build of ${plannedBuild?.label ?? 'an engine'}` : cellLabel(cell),
    role,
    provenance,
    startedAt: own.startedAt,
    harness,
    start,
    axisEnv,
    source: own.source,
    conversion,
    build: commandOf(buildArgv, builder?.run.runId ?? null),
    run: role === 'build' ? null : commandOf(own.argv, runId),
    commandLine: own.argv === null ? (own.read?.log.commandLine ?? null) : null,
    model: harness === null ? await modelOf(db, cwd, own, builder, conversion, plannedBuild) : null,
    engine: { sha256: engineSha256, isGiven, cachedPath: await cachedEngine(path, engineSha256) },
    trtexec:
      own.isReplayed || harness !== null || trtexec === null
        ? null
        : { path: trtexec, sha256: hashOrNull(plan?.program.trtexecSha256 ?? null) },
    inputs: inputFiles(cell, own.argv ?? []),
    timingCacheSha256: hashOrNull(builder?.read?.manifest.timingCacheSha256 ?? null),
    environment,
    clockPolicy: stringOrNull(environment['clockPolicy']),
    git: { commit, branch, dirty },
    toolVersion: sweep?.toolVersion ?? '',
    env,
    withheld: (start?.withheld.length ?? 0) + others.length - Object.keys(env).length,
    notes: [
      ...(isLost ? [NO_RECORDING] : []),
      ...(built?.isSameBuild === false ? [OTHER_BUILD] : []),
      ...(builder === null && buildArgv !== null ? [ONLY_PLANNED] : []),
    ],
    unknown: [],
    script: null,
  };
  return { ...found, unknown: unknownsOf(found) };
}

/** Facts that a repetition would need but nothing recorded. */
function unknownsOf(repro: ReproOutput): string[] {
  const { build, commandLine, conversion, engine, environment, git, harness, model, run, trtexec } = repro;
  const isBare = build === null && run === null;
  const isTrtexec = harness === null;
  const facts: readonly (readonly [text: string, isUnknown: boolean])[] = [
    ['the command line', isBare && commandLine === null],
    ['the arguments one by one: import the folder with its run.json', commandLine !== null],
    ['how the engine was built', isTrtexec && run !== null && build === null && engine.isGiven],
    ['how its model was converted', conversion !== null && conversion.args === null],
    ['the version of ModelOpt', conversion !== null && conversion.record === null],
    ['the SHA-256 of the model', isTrtexec && (model?.sha256 ?? null) === null],
    ['the SHA-256 of the engine', isTrtexec && engine.sha256 === null],
    ['the SHA-256 of trtexec', isTrtexec && (trtexec?.sha256 ?? null) === null],
    ['the TensorRT library that trtexec loaded', isTrtexec && (environment['tensorrtLibrary'] ?? null) === null],
    ['the GPU', (environment['gpuName'] ?? null) === null],
    ['the driver', (environment['driver'] ?? null) === null],
    ['whether clocks were locked', repro.clockPolicy === null],
    ['the environment variables', isBare],
    ['the commit', git.commit === null],
  ];
  return facts.flatMap(([text, isUnknown]) => (isUnknown ? [text] : []));
}

type Started = Awaited<ReturnType<typeof startedFor>>;

/** What store, artefacts and recording say of the process of a run; argv is null where only text is known, or nothing. */
async function startedFor({ db, path }: OpenStore, run: ShownRun) {
  const plan = readStoredPlan(planOf(db, run.sweepId));
  const folder = run.artefactFolder === null ? null : runFolderOf(artefactsFolderOf(path), run.sweepId, run.runId);
  const read = folder === null ? null : await readFirst(folder);
  const recording = read?.manifest.recording ?? null;
  const replayFolder = plan?.program.replayFolder ?? null;
  const { argv, env, startedAt } = run;
  const source: ReproOutput['source'] = 'stored';
  const isReplayed = recording !== null || replayFolder !== null;
  const stored = { run, plan, read, argv, env, startedAt, isReplayed, source };
  // Plain names only: an untrusted file must not lead elsewhere.
  if (recording === null || ![recording.set, recording.id].every((name) => /^(?!\.+$)[\w.-]+$/.test(name)))
    return stored;
  const shipped = join(packageFolder(), 'recordings', recording.set, recording.id);
  const { manifest } = (replayFolder && (await readFirst(join(replayFolder, recording.id)))) ||
    (await readFirst(shipped)) || { manifest: null };
  if (manifest === null || manifest.argv === null) return stored;
  const { argv: recorded, env: variables } = manifest;
  const by: ReproOutput['source'] = 'recorder';
  return { ...stored, argv: recorded, env: variables, startedAt: instantOf(manifest.startedAt), source: by };
}

async function readFirst(folder: string): Promise<ReadRun | null> {
  return readRunFolder(folder).then(
    ([first]) => first ?? null,
    () => null,
  );
}

/** The imported build that saved the engine file which this run loaded. */
function importedBuildOf(db: StoreDatabase, { argv, sweepId }: ShownRun) {
  const path = flagValue(argv ?? [], '--loadEngine');
  const build = path === null ? undefined : importedBuilds(db, [sweepId]).get(path);
  return build === undefined ? null : { runId: build.runId, isSameBuild: true };
}

/** Runs added during the sweep are not in the plan: they equal the others of their cell. */
function plannedRunOf(plan: StoredPlan | null, { cellKey, repeat, role }: ShownRun): PlannedRun | null {
  const ofCell = (plan?.plan.runs ?? []).filter((run) => run.cellKey === cellKey && run.role === role);
  return ofCell.find((run) => run.repeat === repeat) ?? ofCell[0] ?? null;
}

function plannedBuildOf(plan: StoredPlan | null, { argv, cellKey, role }: ShownRun, planned: PlannedRun | null) {
  const { builds, cells } = plan?.plan ?? { builds: [], cells: [] };
  const ref = planned?.buildRef ?? cells.find(({ cell }) => cell.key === cellKey)?.buildRef;
  if (role !== 'build') return builds.find(({ buildRef }) => buildRef === ref) ?? null;
  const ends = Object.values(PLACEHOLDERS);
  const isStated = (argument: string) =>
    argv?.includes(argument) === true || ends.some((end) => argument.endsWith(end));
  return builds.find(({ args }) => args.length > 0 && args.every(isStated)) ?? null;
}

const VARIABLE = /^[A-Za-z_]\w*$/;

/** How another harness is started, as its plan states it. */
function startOf(planned: PlannedRun | null, { argv }: Started): ReproOutput['start'] {
  const harness = planned?.harness ?? null;
  if (harness === null) return null;
  const env = withoutSecrets(harness.env);
  const withheld = Object.keys(harness.env).filter((name) => !(name in env) && VARIABLE.test(name));
  return { argv: [...(argv ?? harness.argv)], cwd: harness.cwd, env, withheld };
}

function withoutSecrets(variables: Readonly<Record<string, string | null>>): Record<string, string | null> {
  const shown = Object.entries(variables).filter(
    ([name, value]) => VARIABLE.test(name) && (value === null || !isSecret(name, value)),
  );
  return Object.fromEntries(shown);
}

function conversionOf(own: Started, builder: Started | null, build: PlannedBuild | null): ReproOutput['conversion'] {
  const stated = own.read?.manifest.variant ?? builder?.read?.manifest.variant ?? null;
  const variant = own.plan?.plan.variants.find(({ variantRef }) => variantRef === build?.variantRef);
  if (stated === null && variant === undefined) return null;
  const isHashed = stated !== null && [stated.sha256, stated.baseSha256].every((text) => hashOrNull(text));
  const { args = null, calibration = null, onnxPath = null } = variant ?? {};
  const argv = args && ['python3', ...args];
  return { record: isHashed ? stated : null, basePath: onnxPath, args: args && [...args], argv, calibration };
}

async function modelOf(
  db: StoreDatabase,
  cwd: string,
  own: Started,
  builder: Started | null,
  conversion: ReproOutput['conversion'],
  planned: PlannedBuild | null,
): Promise<ReproOutput['model']> {
  const built = flagValue([...(builder?.argv ?? []), ...(own.argv ?? [])], '--onnx');
  const path = conversion === null ? (built ?? planned?.onnxPath ?? null) : conversion.basePath;
  if (path === null) return null;
  const ids = [builder?.run.buildId, own.run.buildId].flatMap((id) => id ?? []);
  const builds = findBuilds(db, ids);
  const stored = ids.flatMap((id) => builds.get(id)?.modelSha256 ?? [])[0] ?? null;
  const sha256 = conversion === null ? stored : (conversion.record?.baseSha256 ?? null);
  const facts = await readOnnxFacts(resolve(cwd, path)).catch(() => null);
  const external = facts?.externalFiles.filter(({ problem }) => problem === null).map(({ location }) => location);
  return { path, sha256: own.isReplayed ? null : hashOrNull(sha256), external: external?.toSorted() ?? null };
}

/** Whatever else is in a file that somebody wrote is no hash. */
function hashOrNull(text: string | null): string | null {
  return text !== null && /^[0-9a-f]{64}$/.test(text) ? text : null;
}

/** The files of `--loadInputs` with hashes, by input. */
function inputFiles(cell: KeyedCell | null, argv: readonly string[]): ReproOutput['inputs'] {
  const hashes = cell?.inputs.kind === 'files' ? cell.inputs.sha256ByInput : {};
  return (flagValue(argv, '--loadInputs') ?? '').split(',').flatMap((part) => {
    const name = Object.keys(hashes).find((input) => part.startsWith(`${input}:`));
    const colon = name === undefined ? part.indexOf(':') : name.length;
    return colon <= 0 ? [] : [{ path: part.slice(colon + 1), sha256: hashOrNull(hashes[name ?? ''] ?? null) }];
  });
}

/** Where the cache next to a store has an engine with these bytes; null when it has not. */
async function cachedEngine(storePath: string, sha256: string | null): Promise<string | null> {
  if (sha256 === null) return null;
  const { engines } = await new EngineCache(enginesFolderOf(storePath)).contents({ hashes: false });
  return engines.find((engine) => engine.sha256 === sha256 && engine.state === 'unchecked')?.path ?? null;
}

/** What becomes a variable of the script, and its name in the current folder; null: the name stays as it is. */
const FILES: Readonly<Record<string, readonly [variable: string, name: string | null]>> = {
  '--onnx=': ['MODEL', null],
  '--refitFromOnnx=': ['MODEL', null],
  '--saveEngine=': ['ENGINE', 'engine.plan'],
  '--loadEngine=': ['ENGINE', 'engine.plan'],
  '--timingCacheFile=': ['TIMING_CACHE', 'timing.cache'],
};

/**
 * Arguments with names in the current folder for the paths of trtexec; words of another program are its own. `head` is
 * what is before the text (`--loadEngine=`), `variable` that of a script in whose place the text is.
 */
export function localWords(
  argv: readonly string[],
  repro: Pick<ReproOutput, 'conversion' | 'harness'> & { readonly engine: Pick<ReproOutput['engine'], 'isGiven'> },
) {
  const program = repro.harness === null ? programPlace(argv) : -1;
  return argv.map((argument, place) => {
    const plain = { variable: null, head: '', text: argument };
    if (program === -1 || place < program) return plain;
    if (place === program) return { variable: 'TRTEXEC', head: '', text: 'trtexec' };
    const equals = argument.indexOf('=') + 1;
    const [head, path] = [argument.slice(0, equals), argument.slice(equals)];
    if (head.startsWith('--export')) return { variable: null, head, text: posix.basename(path) };
    const [variable, name] = FILES[head] ?? [null, null];
    if (variable === null) return plain;
    if (variable === 'MODEL' && repro.conversion !== null) return { variable: 'VARIANT', head, text: 'variant.onnx' };
    return { variable, head, text: variable === 'ENGINE' && repro.engine.isGiven ? path : (name ?? path) };
  });
}

/** A program with one of these as its first option is trtexec, whatever its name. */
const FIRST_OPTION = /^--(?:onnx|loadEngine)=/;
const PROGRAM = /(?:^|[/\\])[^/\\]*trtexec[^/\\]*$/;

/** Index of trtexec behind launchers such as `numactl`; -1 for another program. */
export function programPlace(argv: readonly string[]): number {
  const option = argv.findIndex((argument) => FIRST_OPTION.test(argument));
  const named = argv.findIndex((argument) => PROGRAM.test(argument));
  if (named !== -1 && (option === -1 || named < option)) return named;
  if (option < 1) return -1;
  return argv[0] === 'numactl' ? option - 1 : 0;
}
