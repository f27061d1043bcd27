import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { artefactsFolderOf, runFolderOf } from '../../artefacts/layout.ts';
import { scrubText } from '../../artefacts/scrub.ts';
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
import { namedRun, storedRun } from '../../selection/by-name.ts';
import { profiledPoint, profiledRun } from '../../selection/profiled-engine.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { makeLook } from '../../terminal/look.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { withoutSecretEnv } from '../../text/secret-name.ts';
import { layersDiffOutput, layersDiffText, layerTable } from '../layers/index.ts';
import { readMatrix } from '../plan/index.ts';
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

/** One zip file to attach to a bug report: equal bytes for equal results, redacted, of a limited size. */
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
    const sides = await sidesOf(store, namedRun(store.db, name), ref, io);
    const reduced = layer === undefined ? null : await reducedOf(sides, { layer, around, model, python }, io);
    const bundle = new BundleFiles(maxMib);
    await fill(bundle, sides, reduced, store, io);
    const [head, base] = sides;
    const about = { runId: head.repro.runId, baseRunId: base?.repro.runId ?? null, reduced: reduced?.output ?? null };
    const sections = sides.map((side) => [side.name, reproText(outputOf(side.repro, null), PLAIN)] as const);
    bundle.files.push({ name: 'README.txt', content: readmeText(about, sections, bundle) });
    const files = bundle.files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const texts = files.flatMap(({ content }) => (typeof content === 'string' ? [content] : []));
    const redaction = redactionFor(io, options, texts.join('\n'));
    const hidden = files.map(({ content, name: as }) => {
      if (typeof content !== 'string') return { name: as, content };
      return { name: as, content: Buffer.from(scrubText(redactedText(content, redaction), io.env)) };
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
  store: OpenStore,
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
  for (const { name, repro } of sides) addPlan(bundle, name, planOf(store.db, repro.sweepId), io);
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

/** The plan, and the matrix file where it is still one of that name. */
function addPlan(bundle: BundleFiles, side: string, text: string | null, io: Io): void {
  const plan = readStoredPlan(text);
  const name = `${side}/matrix.yaml`;
  if (text === null || plan === null) return bundle.leaveOut(name, 'the run was not made by a matrix of bench');
  bundle.add(`${side}/plan.json`, json(withoutSecretEnv(JSON.parse(text))));
  const file = plan.matrix?.file ?? null;
  if (file === null) return bundle.leaveOut(name, 'where the matrix lies is not known; plan.json has what it said');
  try {
    // What is no matrix is no business of whoever reads the bundle.
    const isSame = readMatrix(file, io, true).name === plan.plan.matrix;
    if (isSame) {
      const yaml = readFileSync(file, 'utf8');
      bundle.add(name, yaml);
      if (/^extends:/m.test(yaml)) bundle.leaveOut(`what ${name} extends`, 'plan.json has what both said together');
    } else bundle.leaveOut(name, 'the matrix file has another name now; plan.json has what it said');
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    bundle.leaveOut(name, 'the matrix file is not there, or cannot be read; plan.json has what it said');
  }
}
