import { posix, resolve } from 'node:path';

import { artefactsFolderOf, runFolderOf } from '../../files/layout.ts';
import { readRunFolder } from '../../artefacts/read/read-run.ts';
import { isStoredVariable } from '../../process/environment-variables.ts';
import { type KeyedCell, variablesOf, cellLabel } from '../../records/cell.ts';
import { type PlannedBuild, type PlannedRun, PLACEHOLDERS } from '../../records/plan.ts';
import type { RunId } from '../../records/scalars.ts';
import { NO_GIT } from '../../records/sweep.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import { buildRunOf, importedBuilds } from '../../store/builds/builds.ts';
import { findCells } from '../../store/cells.ts';
import type { OpenStore } from '../../store/file/open.ts';
import type { ShownRun } from '../../store/runs/show-run.ts';
import { findBuilds } from '../../store/sweeps/environments.ts';
import { findSweep, planOf } from '../../store/sweeps/sweeps.ts';
import { isSecret } from '../../text/redact.ts';
import { stringOrNull } from '../../text/unknown-values.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { flagValue } from '../../trtexec/flags/flag-table.ts';
import type { ReproOutput } from './output.ts';
import { storedRun } from '../../selection/cell-points.ts';

/** Gathers everything that the store, the artefacts and the recording contain about repeating a run. */
export async function gatherReproduction(store: OpenStore, runId: RunId, cwd: string): Promise<ReproOutput> {
  const { db } = store;
  const own = await startedFor(store, storedRun(db, runId));
  const { isReplayed, plan } = own;
  const { argv, cellKey, environment, provenance, role, startedAt, sweepId } = own.run;
  const imported = importedBuilds(db, [sweepId]).get(flagValue(argv ?? [], '--loadEngine') ?? '');
  const built = role === 'build' ? null : (buildRunOf(db, runId) ?? (imported && { ...imported, isSameBuild: true }));
  const builder = role === 'build' ? own : built && (await startedFor(store, storedRun(db, built.runId)));
  const cell = cellKey === null ? null : (findCells(db, [cellKey]).get(cellKey) ?? null);
  const harness = cell?.harness?.name ?? null;
  const isTrtexec = harness === null;
  const planned = plannedFor(plan, own.run);
  const conversion = conversionOf(own, builder ?? null, planned.build);
  const args = planned.build?.args ?? [];
  const buildArgv = builder?.run.argv ?? (args.length === 0 ? null : [plan?.program.trtexec ?? 'trtexec', ...args]);
  const isGiven = buildArgv === null && flagValue(argv ?? [], '--loadEngine') !== null;
  const commandOf = (words: readonly string[] | null, from: RunId | null) => {
    const local = localWords(words ?? [], { conversion, engine: { isGiven }, harness });
    return words && { argv: [...words], localArgv: local.map(({ head, text }) => head + text), runId: from };
  };
  const start = startOf(planned.run, argv);
  const onAxes = new Set(Object.keys(variablesOf(cell?.axisFlags ?? {})));
  const axisValues = Object.entries(own.run.env).filter(([name]) => onAxes.has(name));
  const axisEnv = withoutSecrets({ ...Object.fromEntries(axisValues), ...planned.run?.env });
  const others = Object.entries(own.run.env).filter(([name]) => !(name in { ...start?.env, ...axisEnv }));
  const env = others.filter(([name]) => isStoredVariable(name));
  const sweep = findSweep(db, sweepId);
  const { commit, branch, dirty } = sweep ?? NO_GIT;
  const program = plan?.program.trtexec ?? argv?.[programPlace(argv)] ?? null;
  const onnx = flagValue([...(builder?.run.argv ?? []), ...(argv ?? [])], '--onnx') ?? planned.build?.onnxPath ?? null;
  const modelPath = conversion === null ? onnx : conversion.basePath;
  const buildIds = [builder?.run.buildId, own.run.buildId].flatMap((id) => id ?? []);
  const [storedBuild] = findBuilds(db, buildIds).values();
  const modelHash = conversion === null ? storedBuild?.modelSha256 : conversion.record?.baseSha256;
  const facts = modelPath === null ? null : await readOnnxFacts(resolve(cwd, modelPath)).catch(() => null);
  const found = facts?.externalFiles.filter(({ problem }) => problem === null) ?? null;
  const external = found && found.map(({ location }) => location).toSorted();
  // A replay wrote only placeholders.
  const hashed = (text: string | null | undefined) => (isReplayed ? null : hashOrNull(text));
  const isKnown = isTrtexec && !isReplayed && program !== null;
  const gathered: ReproOutput = {
    schemaVersion: 1,
    runId,
    sweepId,
    label: cell === null ? `build of ${planned.build?.label ?? 'an engine'}` : cellLabel(cell),
    role,
    provenance,
    startedAt,
    harness,
    start,
    axisEnv,
    source: 'stored',
    conversion,
    build: commandOf(buildArgv, builder?.run.runId ?? null),
    run: role === 'build' ? null : commandOf(argv, runId),
    commandLine: argv === null ? (own.read?.log.commandLine ?? null) : null,
    model: isTrtexec && modelPath !== null ? { path: modelPath, sha256: hashed(modelHash), external } : null,
    engine: { sha256: hashed(own.run.engineSha256), isGiven },
    trtexec: isKnown ? { path: program, sha256: hashOrNull(plan?.program.trtexecSha256) } : null,
    inputs: inputFiles(cell, argv ?? []),
    environment,
    clockPolicy: stringOrNull(environment['clockPolicy']),
    git: { commit, branch, dirty },
    toolVersion: sweep?.toolVersion ?? '',
    env: Object.fromEntries(env),
    withheld: (start?.withheld.length ?? 0) + others.length - env.length,
    unknown: [],
    script: null,
  };
  const unknown = unknownsOf(gathered, [
    ['the command line of the recording: bench shows its own request', isReplayed],
    ['the build of this engine: bench shows a build of the same model and flags', built?.isSameBuild === false],
    ['the build command that ran: bench shows the planned one', !builder && buildArgv !== null],
  ]);
  return { ...gathered, unknown };
}

type Unknown = readonly [text: string, isUnknown: boolean];

/** Facts that a repetition would need but that were not recorded. */
function unknownsOf(repro: ReproOutput, others: readonly Unknown[]): string[] {
  const { build, commandLine, conversion, engine, environment, git, harness, model, run, trtexec } = repro;
  const isBare = build === null && run === null;
  const isTrtexec = harness === null;
  const facts: readonly Unknown[] = [
    ['the command line', isBare && commandLine === null],
    ['the arguments one by one: import the folder with its run.json', commandLine !== null],
    ['how the engine was built', isTrtexec && run !== null && build === null && engine.isGiven],
    ['how its model was converted', conversion !== null && (conversion.argv === null || conversion.record === null)],
    ['the SHA-256 of the model', isTrtexec && !model?.sha256],
    ['the SHA-256 of the engine', isTrtexec && engine.sha256 === null],
    ['the SHA-256 of trtexec', isTrtexec && !trtexec?.sha256],
    ['the TensorRT library that trtexec loaded', isTrtexec && !environment['tensorrtLibrary']],
    ['the GPU', !environment['gpuName']],
    ['the driver', !environment['driver']],
    ['whether clocks were locked', repro.clockPolicy === null],
    ['the environment variables', isBare],
    ['the commit', git.commit === null],
    ...others,
  ];
  return facts.flatMap(([text, isUnknown]) => (isUnknown ? [text] : []));
}

type Started = Awaited<ReturnType<typeof startedFor>>;

/** Facts about the process of a run from the store and the artefacts. `argv` is null if only a text is known, or nothing. */
async function startedFor({ db, path }: OpenStore, run: ShownRun) {
  const plan = readStoredPlan(planOf(db, run.sweepId));
  const artefacts = artefactsFolderOf(path);
  const read = run.artefactFolder === null ? null : await readFirst(runFolderOf(artefacts, run.sweepId, run.runId));
  const isReplayed = Boolean(read?.manifest.recording ?? plan?.program.replayFolder);
  return { run, plan, read, isReplayed };
}

async function readFirst(folder: string) {
  const runs = await readRunFolder(folder).catch(() => []);
  return runs[0] ?? null;
}

/** The planned run and its build. The plan lacks runs added during the sweep, which equal the others of their cell. */
function plannedFor(plan: StoredPlan | null, { argv, cellKey, repeat, role }: ShownRun) {
  const { builds, cells, runs } = plan?.plan ?? { builds: [], cells: [], runs: [] };
  const ofCell = runs.filter((run) => run.cellKey === cellKey && run.role === role);
  const run = ofCell.find((each) => each.repeat === repeat) ?? ofCell[0] ?? null;
  const ref = run?.buildRef ?? cells.find(({ cell }) => cell.key === cellKey)?.buildRef;
  const isStated = (argument: string): boolean =>
    argv?.includes(argument) === true || Object.values(PLACEHOLDERS).some((end) => argument.endsWith(end));
  const build = builds.find(({ args, buildRef }) =>
    role === 'build' ? args.length > 0 && args.every(isStated) : buildRef === ref,
  );
  return { run, build: build ?? null };
}

const VARIABLE = /^[A-Za-z_]\w*$/;

/** How to start another harness, according to its plan. */
function startOf(planned: PlannedRun | null, argv: readonly string[] | null): ReproOutput['start'] {
  const harness = planned?.harness ?? null;
  if (harness === null) return null;
  const env = withoutSecrets(harness.env);
  const withheld = Object.keys(harness.env).filter((name) => !(name in env) && VARIABLE.test(name));
  return { argv: [...(argv ?? harness.argv)], cwd: harness.cwd, env, withheld };
}

function withoutSecrets(variables: Readonly<Record<string, string | null>>): Record<string, string | null> {
  const named = Object.entries(variables).filter(([name]) => VARIABLE.test(name));
  return Object.fromEntries(named.filter(([name, value]) => value === null || !isSecret(name, value)));
}

function conversionOf(own: Started, builder: Started | null, build: PlannedBuild | null): ReproOutput['conversion'] {
  const stated = own.read?.manifest.variant ?? builder?.read?.manifest.variant ?? null;
  const variant = own.plan?.plan.variants.find(({ variantRef }) => variantRef === build?.variantRef);
  if (stated === null && variant === undefined) return null;
  const isHashed = stated !== null && [stated.sha256, stated.baseSha256].every((text) => hashOrNull(text));
  const argv = variant === undefined ? null : ['python3', ...variant.args];
  return { record: isHashed ? stated : null, basePath: variant?.onnxPath ?? null, argv };
}

/** A hash, or null for other text in a file that somebody wrote. */
function hashOrNull(text: string | null | undefined): string | null {
  return text && /^[0-9a-f]{64}$/.test(text) ? text : null;
}

/** The files of `--loadInputs` with hashes, by input. */
function inputFiles(cell: KeyedCell | null, argv: readonly string[]): ReproOutput['inputs'] {
  const hashes = cell?.inputs.kind === 'files' ? cell.inputs.sha256ByInput : {};
  return (flagValue(argv, '--loadInputs') ?? '').split(',').flatMap((part) => {
    const name = Object.keys(hashes).find((input) => part.startsWith(`${input}:`)) ?? part.split(':')[0] ?? '';
    const path = part.slice(name.length + 1);
    return path === '' ? [] : [{ path, sha256: hashOrNull(hashes[name]) }];
  });
}

/** Options whose path becomes a variable of the script, with the name in the current folder; null keeps the name. */
const FILES: Readonly<Record<string, readonly [variable: string, name: string | null]>> = {
  '--onnx=': ['MODEL', null],
  '--refitFromOnnx=': ['MODEL', null],
  '--saveEngine=': ['ENGINE', 'engine.plan'],
  '--loadEngine=': ['ENGINE', 'engine.plan'],
  '--timingCacheFile=': ['TIMING_CACHE', 'timing.cache'],
};

/**
 * Arguments with the paths of trtexec replaced by names in the current folder; arguments of another program stay.
 * `head` is the part before the text (`--loadEngine=`), and `variable` is the variable of a script that replaces the
 * text.
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

/** Index of trtexec after launchers such as `numactl`; -1 for another program. */
export function programPlace(argv: readonly string[]): number {
  const option = argv.findIndex((argument) => FIRST_OPTION.test(argument));
  const named = argv.findIndex((argument) => PROGRAM.test(argument));
  if (named !== -1 && (option === -1 || named < option)) return named;
  if (option < 1) return -1;
  return argv[0] === 'numactl' ? option - 1 : 0;
}
