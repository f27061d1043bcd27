import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { artefactsFolderOf, runFolderOf } from '../../artefacts/layout.ts';
import { zipped } from '../../artefacts/zip.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactedText, redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { BenchError, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { changeRows } from '../../layers/change-rows.ts';
import { diffLayers } from '../../layers/diff-layers.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { isMeasured } from '../../records/run.ts';
import type { RunId } from '../../records/scalars.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { type CellPoint, resolvePoints } from '../../selection/cell-points.ts';
import { storedRun } from '../../selection/by-name.ts';
import { newestRun } from '../../selection/newest-run.ts';
import { profiledPoint, profiledRun } from '../../selection/profiled-engine.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { isStoredVariable } from '../../process/environment-variables.ts';
import { makeLook } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { RelativePaths } from '../../text/relative-paths.ts';
import { layersDiffOutput, layersDiffText, layerTable } from '../layers/index.ts';
import { BundleFiles } from './bundle-files.ts';
import { bundleText, readmeText } from './bundle-text.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction } from './gather.ts';
import type { ReproBundle } from './output.ts';
import { reduceModel, type ReducedModel } from './reduce.ts';
import { MODEL_FILE } from './reduced-matrix.ts';
import { outputOf, scriptOf } from './repro.ts';
import type { Reproduction } from './reproduction.ts';
import { reproText } from './text.ts';

/** The build that a bug report is about, or the good one that it is compared with. */
interface Side {
  readonly name: 'head' | 'base';
  readonly repro: Reproduction;
  readonly engine: ProfiledEngine | null;
  /** Null for a build, which belongs to no single cell. */
  readonly point: CellPoint | null;
}

const PLAIN = makeLook(100, false);

/** One zip file to attach to a bug report: equal bytes for equal results, of what is known to be fit, of a limited size. */
export async function writeBundle(name: string, file: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { around, base: ref, force, maxMib, model, python, reduce: layer, script } = options;
  if (script !== undefined) throw new UsageError('the script is in the bundle: leave --script out');
  if (file === '-') throw new UsageError('a zip file is binary: name a file, --bundle bug.zip');
  if (force !== true && existsSync(resolve(io.cwd, file))) {
    throw new UsageError(`${printable(file)} is there already: --force replaces it`);
  }
  if (layer !== undefined && ref === undefined) {
    throw new UsageError('--reduce needs the good build to compare with: --base latest~1');
  }
  return withStore(options, io, async (store) => {
    const found = await sidesOf(store, await newestRun(store.db, name, io), ref, io);
    const made = layer === undefined ? null : await reducedOf(found, { layer, around, model, python }, io);
    const paths = new RelativePaths(found.map(({ repro }) => repro));
    const sides = found.map((side) => ({ ...side, repro: paths.copy(knownOf(side.repro)) }));
    const reduced = made && { ...made, matrices: paths.copy(made.matrices), output: paths.copy(made.output) };
    const bundle = new BundleFiles(maxMib, paths);
    await fill(bundle, sides, reduced, { paths, store }, io);
    const [{ repro: head }, base] = found;
    const about = { runId: head.runId, baseRunId: base?.repro.runId ?? null, reduced: reduced?.output ?? null };
    const sections = sides.map((side) => [side.name, reproText(outputOf(side.repro, null), PLAIN)] as const);
    leaveOutNames(bundle, sides, paths);
    bundle.files.push({ name: 'README.txt', content: readmeText(about, sections, bundle) });
    const files = bundle.files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const texts = files.flatMap(({ content }) => (typeof content === 'string' ? [content] : []));
    const redaction = redactionFor(io, options, texts.join('\n'));
    const hidden = files.map(({ content, name: as }) => {
      if (typeof content !== 'string') return { name: as, content };
      return { name: as, content: Buffer.from(redactedText(content, redaction)) };
    });
    const zip = zipped(
      hidden.map(({ content, name: as }) => ({ name: as, pieces: () => [content], isDeflated: true })),
    );
    const bytes = await writeOutput(file, zip, io);
    const written: ReproBundle = {
      schemaVersion: 1,
      file,
      bytes,
      ...about,
      files: hidden.map(({ content, name: as }) => ({ name: as, bytes: content.length })),
      leftOut: bundle.leftOut,
    };
    printResult(io, options, written, bundleText);
    return EXIT_CODES.fine;
  });
}

async function sidesOf(
  store: OpenStore,
  runId: RunId,
  ref: string | undefined,
  io: Io,
): Promise<readonly [head: Side, ...base: Side[]]> {
  const { db } = store;
  const repro = await gatherReproduction(store, runId, io.cwd);
  if (storedRun(db, runId).cellKey === null) {
    if (ref !== undefined)
      throw new UsageError('--base compares runs of a cell, and this is a build: name a run or a cell');
    return [{ name: 'head', repro, engine: profiledRun(db, runId, runId), point: null }];
  }
  if (ref === undefined) {
    const { head } = await resolvePoints(db, null, [runId, runId], io);
    return [{ name: 'head', repro, engine: profiledPoint(db, head, true), point: head }];
  }
  const { base, head } = await resolvePoints(db, null, [ref, runId], io);
  const isSameCell = base.cell.key === head.cell.key;
  const engine = profiledPoint(db, base, isSameCell);
  const sweepIds = base.sweeps.map(({ sweepId }) => sweepId);
  const timed = cellRunsOf(db, sweepIds, [base.cell.key]).find(isMeasured);
  const baseRun = base.runId ?? timed?.runId ?? engine?.runId;
  if (baseRun === undefined) throw new UsageError(`--base ${printable(ref)}: nothing was measured there`);
  return [
    { name: 'head', repro, engine: profiledPoint(db, head, isSameCell), point: head },
    { name: 'base', repro: await gatherReproduction(store, baseRun, io.cwd), engine, point: base },
  ];
}

async function reducedOf(
  [head, base]: Awaited<ReturnType<typeof sidesOf>>,
  options: Parameters<typeof reduceModel>[3],
  io: Io,
): Promise<ReducedModel> {
  const cell = head.point?.cell;
  if (cell === undefined || base?.point === undefined || cell.key !== base.point?.cell.key) {
    throw new UsageError('--reduce compares two builds of one cell: name another sweep, commit or run with --base');
  }
  const lacking = [head, base].find(({ engine }) => engine === null);
  if (head.engine === null || base.engine === null) {
    throw new UsageError(
      `--reduce: no layers are known of ${printable(lacking?.point?.ref ?? '')}; \`bench run --profile\` takes them`,
    );
  }
  if (head.engine.runId === base.engine.runId) {
    throw new UsageError('--reduce: the layers of both sides are of the same run: name another build with --base');
  }
  const diff = diffLayers(layerFactsOf(base.engine.layers), layerFactsOf(head.engine.layers));
  return reduceModel(cell, diff, { base: base.repro, head: head.repro }, options, io);
}

async function fill(
  bundle: BundleFiles,
  sides: readonly Side[],
  reduced: ReducedModel | null,
  { paths, store }: { readonly paths: RelativePaths; readonly store: OpenStore },
  io: Io,
): Promise<void> {
  for (const { name, repro } of sides) {
    bundle.add(`${name}/repro.json`, json(outputOf(repro, null)));
    addScript(bundle, name, repro);
  }
  if (reduced !== null) {
    bundle.add('reduced/base.yaml', reduced.matrices.base);
    bundle.add('reduced/head.yaml', reduced.matrices.head);
    bundle.add(`reduced/${MODEL_FILE}`, reduced.model);
  }
  addLayers(bundle, sides);
  const seen = new Set<RunId>();
  for (const side of sides) addPlan(bundle, side, store.db, paths);
  for (const role of ['run', 'build', 'profile'] as const) {
    for (const { engine, name, repro } of sides) {
      const runId = { run: repro.runId, build: repro.build?.runId ?? null, profile: engine?.runId ?? null }[role];
      if (runId === null || seen.has(runId)) continue;
      seen.add(runId);
      const { sweepId } = storedRun(store.db, runId);
      const folder = runFolderOf(artefactsFolderOf(store.path), sweepId, runId);
      await bundle.addRun(`${name}/${repro.role === 'build' ? 'build' : role}`, folder, io.signal);
    }
  }
}

/** What is in no file, by kind. */
function leaveOutNames(bundle: BundleFiles, sides: readonly Side[], { count: folders }: RelativePaths): void {
  for (const { name, repro } of sides) {
    const { start, withheld } = repro;
    const named = start === null || start.withheld.length === 0 ? '' : `, among them ${start.withheld.join(', ')}`;
    if (withheld > 0) bundle.leaveOut(`${name}: ${count(withheld, 'variable')}`, `not known to hold no secret${named}`);
  }
  if (folders > 0)
    bundle.leaveOut(`absolute paths in ${count(folders, 'folder')}`, 'folder-1 and so on in their place');
}

function json(value: unknown): string {
  return `${jsonText(value)}\n`;
}

function addScript(bundle: BundleFiles, name: string, repro: Reproduction): void {
  try {
    bundle.add(`${name}/repro.sh`, scriptOf(repro));
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    bundle.leaveOut(`${name}/repro.sh`, error.message);
  }
}

function addLayers(bundle: BundleFiles, sides: readonly Side[]): void {
  for (const { engine, name } of sides) {
    if (engine === null)
      bundle.leaveOut(`${name}/layers.json`, 'no layers are known: `bench run --profile` takes them');
    else bundle.add(`${name}/layers.json`, json(layerTable(engine)));
  }
  const [head, base] = sides.map(({ engine }) => engine);
  if (!head || !base) return;
  const diff = diffLayers(layerFactsOf(base.layers), layerFactsOf(head.layers));
  const output = layersDiffOutput(base, head, diff, changeRows(diff));
  bundle.add('layers-diff.json', json(output));
  const details = { opened: null, top: Infinity, smClockMhz: [null, null] } as const;
  bundle.add('layers-diff.txt', `${layersDiffText(output, details, PLAIN).join('\n')}\n`);
}

/** What the plan says of this cell. Notes, and settings of other harnesses, are text that somebody wrote. */
function addPlan(bundle: BundleFiles, { name, point, repro }: Side, db: StoreDatabase, paths: RelativePaths): void {
  bundle.leaveOut(`${name}/matrix.yaml`, 'somebody wrote it: plan.json has what it says of this cell');
  const plan = readStoredPlan(planOf(db, repro.sweepId))?.plan;
  const cells = plan?.cells.filter(({ cell }) => cell.key === point?.cell.key) ?? [];
  if (plan === undefined || cells.length === 0) return bundle.leaveOut(`${name}/plan.json`, 'no plan has this cell');
  const builds = plan.builds.filter(({ buildRef }) => cells.some((cell) => cell.buildRef === buildRef));
  const variants = plan.variants.filter(({ variantRef }) => builds.some((build) => build.variantRef === variantRef));
  const runs = plan.runs.filter(({ cellKey }) => cells.some(({ cell }) => cell.key === cellKey));
  const own = {
    ...plan,
    notes: undefined,
    cells,
    variants,
    builds: builds.map((build) => ({ ...build, notes: undefined })),
    runs: runs.map((run) => ({ ...run, notes: undefined, harness: undefined })),
  };
  bundle.add(`${name}/plan.json`, json(paths.copy(own)));
}

/** Without what an allow-list does not have. */
function knownOf(repro: Reproduction): Reproduction {
  const { environment, git, start, withheld } = repro;
  const unknown = Object.keys(start?.env ?? {}).filter((name) => !isStoredVariable(name));
  const env = Object.entries(start?.env ?? {}).filter(([name]) => isStoredVariable(name));
  return {
    ...repro,
    environment: { ...environment, container: null },
    git: { ...git, branch: null },
    start: start && { ...start, env: Object.fromEntries(env), withheld: [...start.withheld, ...unknown] },
    withheld: withheld + unknown.length,
  };
}
