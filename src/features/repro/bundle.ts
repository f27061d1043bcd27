import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { zipSync } from 'fflate';

import { artefactsFolderOf, RUN_MANIFEST, runFolderOf } from '../../files/layout.ts';
import { type RunFiles, runFilesIn } from '../../artefacts/run-files.ts';
import { parseRunManifest } from '../../artefacts/run-manifest.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactedText, redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { BenchError, errorText, UsageError, type ExitCode } from '../../errors.ts';
import { isStoredVariable } from '../../process/environment-variables.ts';
import { isColdStart } from '../../records/harness.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { RunId } from '../../records/scalars.ts';
import { namedCells } from '../../selection/by-name.ts';
import { resolvePoints, profiledPoint, namedRun, storedRun } from '../../selection/cell-points.ts';
import { profiledRun } from '../../selection/profiled-engine.ts';
import { sweepsOfName } from '../../selection/sides.ts';
import { allCells } from '../../store/cells.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf, newestRunsOf } from '../../store/runs/cell-runs.ts';
import { findRunsByPrefix } from '../../store/runs/show-run.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { count, formatBytes, signedMs } from '../../terminal/numbers.ts';
import { compareTexts } from '../../text/canonical-json.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { RelativePaths } from '../../text/relative-paths.ts';
import { ownLines } from '../../trtexec/log/trtexec-log.ts';
import { CHANGE_WORDS, layerTable } from '../layers/index.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction } from './gather.ts';
import type { ReproBundle, ReproOutput } from './output.ts';
import { reduceModel, type Side } from './reduce.ts';
import { reproScript } from './repro.ts';

/** Files that a bundle takes from a run folder besides its manifest and logs: names and numbers of layers and queries. */
const TAKEN = ['layers.json', 'profile.json', 'telemetry.csv', 'times.json'];
/** Facts about the process in a manifest, without text that a person wrote. */
const RUN_FACTS =
  'schemaVersion role repeat requested limits buildId engineKey engineSha256 engineBytes timingCacheSha256 argv marks provenance exitCode signal timedOut attempt cancelled startedAt wallS'.split(
    ' ',
  );

/** The files of a bundle. Unknown files and files that no longer fit are left out and listed. */
export class BundleFiles {
  readonly files: { readonly name: string; readonly content: string | Buffer }[] = [];
  readonly leftOut: { readonly name: string; readonly why: string }[] = [];
  readonly #maxMib: number;
  readonly #paths: RelativePaths;
  #room: number;

  constructor(maxMib: number, paths: RelativePaths) {
    this.#paths = paths;
    this.#maxMib = maxMib;
    this.#room = maxMib * 2 ** 20;
  }

  /** @param value a text, the bytes of a file, or a value that becomes JSON with relative paths */
  add(name: string, value: unknown): void {
    const isFile = typeof value === 'string' || Buffer.isBuffer(value);
    const content = isFile ? value : `${jsonText(this.#paths.copy(value))}\n`;
    const bytes = Buffer.byteLength(content);
    if (bytes > this.#room) {
      const why = `${formatBytes(bytes)}, and the bundle takes ${this.#maxMib} MiB in all: --max-mib takes more`;
      return this.leaveOut(name, why);
    }
    this.#room -= bytes;
    this.files.push({ name, content });
  }

  leaveOut(name: string, why: string): void {
    this.leftOut.push({ name: printable(name), why: printable(why) });
  }

  /** Adds the logs, manifests and exports of a run. @param to its folder in the bundle */
  async addRun(to: string, folder: string, signal: AbortSignal): Promise<void> {
    const run = await runFilesIn(folder, signal).catch(() => null);
    if (!run?.names.length) return this.leaveOut(`${to}/`, 'the files of this run are no longer kept');
    for (const name of run.names.toSorted()) {
      await this.#addFile(run, name, `${to}/${name}`).catch((error: unknown) =>
        this.leaveOut(`${to}/${name}`, `cannot be read: ${errorText(error)}`),
      );
    }
  }

  async #addFile(run: RunFiles, name: string, as: string): Promise<void> {
    if (TAKEN.includes(name)) return this.add(as, String(await run.whole(name)));
    if (name === RUN_MANIFEST) {
      const { manifest, problem } = parseRunManifest(String(await run.whole(name)));
      if (manifest === null) return this.leaveOut(as, problem);
      return this.add(as, Object.fromEntries(RUN_FACTS.map((fact) => [fact, Reflect.get(manifest, fact)])));
    }
    const [, stream] = /^(stdout|stderr)\.log$/.exec(name) ?? [];
    if (stream !== 'stdout' && stream !== 'stderr') return this.leaveOut(as, 'a bundle does not contain this file');
    const { others, texts } = await ownLines(run.chunks(name), stream);
    if (others > 0) this.leaveOut(as, `${count(others, 'line')} that trtexec's logger did not write, or verbose`);
    if (texts.length > 0) this.add(as, this.#paths.text(texts.map((line) => `${line}\n`).join('')));
  }
}

/** A constant date, the earliest of a zip file, makes equal files give equal bytes. */
const ZIP_OPTIONS = { level: 9, mtime: new Date(1980, 0, 1) } as const;

/**
 * Writes one zip file for a bug report. It holds only facts and files of an allow-list, up to a limited size. Equal
 * results give equal bytes.
 */
export async function writeBundle(name: string, file: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { base: ref, force, maxMib, reduce: layer, script } = options;
  if (script !== undefined) throw new UsageError('the script is in the bundle: leave --script out');
  if (file === '-') throw new UsageError('a zip file is binary: name a file, --bundle bug.zip');
  if (force !== true && existsSync(resolve(io.cwd, file))) throw new UsageError(`${file} exists: --force replaces it`);
  return withStore(options, io, async (store) => {
    const found = await sidesOf(store, await newestRun(store.db, name, io), ref, io);
    const made = layer === undefined ? null : await reduceModel(layer, found[0], found[1], options, io);
    const paths = new RelativePaths(found.map(({ repro }) => repro));
    const sides = found.map((side) => ({ ...side, repro: paths.copy(knownOf(side.repro)) }));
    const reduced = made && paths.copy(made.output);
    const bundle = new BundleFiles(maxMib, paths);
    if (made !== null) bundle.add('reduced/model.onnx', made.model);
    await addSides(bundle, sides, store, io.signal);
    if (paths.count > 0) {
      bundle.leaveOut(`absolute paths in ${count(paths.count, 'folder')}`, 'replaced by folder-1 and so on');
    }
    const about = { schemaVersion: 1 as const, runId: found[0].repro.runId, baseRunId: found[1]?.repro.runId ?? null };
    const { leftOut } = bundle;
    bundle.add('bundle.json', { ...about, leftOut, reduced });
    const texts = bundle.files.flatMap(({ content }) => (typeof content === 'string' ? content : []));
    const redaction = redactionFor(io, options, texts.join('\n'));
    const files = bundle.files
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ content: given, name: as }) => {
        const content = typeof given === 'string' ? Buffer.from(redactedText(given, redaction)) : given;
        return { name: as, content };
      });
    const zip = zipSync(Object.fromEntries(files.map(({ content, name: as }) => [as, content])), ZIP_OPTIONS);
    const bytes = await writeOutput(file, [zip], io);
    const written = files.map(({ content, name: as }) => ({ name: as, bytes: content.length }));
    const output: ReproBundle = { ...about, file, bytes, files: written, leftOut, reduced };
    return printResult(io, options, output, bundleText);
  });
}

async function sidesOf(store: OpenStore, runId: RunId, ref: string | undefined, io: Io): Promise<[Side, ...Side[]]> {
  const { db } = store;
  const repro = await gatherReproduction(store, runId, io.cwd);
  if (storedRun(db, runId).cellKey === null) {
    if (ref === undefined) return [{ name: 'head', repro, engine: profiledRun(db, runId, runId), point: null }];
    throw new UsageError('--base compares runs of a cell, and this is a build: name a run or a cell');
  }
  const { base, head } = await resolvePoints(db, null, [ref ?? runId, runId], io);
  const newer: Side = { name: 'head', repro, engine: profiledPoint(db, head), point: head };
  if (ref === undefined) return [newer];
  const engine = profiledPoint(db, base);
  const sweepIds = base.sweeps.map(({ sweepId }) => sweepId);
  const timed = cellRunsOf(db, sweepIds, [base.cell.key]).find(isMeasured);
  const baseRun = base.runId ?? timed?.runId ?? engine?.runId;
  if (baseRun === undefined) throw new UsageError(`--base ${ref}: nothing was measured there`);
  return [newer, { name: 'base', repro: await gatherReproduction(store, baseRun, io.cwd), engine, point: base }];
}

/** As `namedRun`; for a sweep or several cells the newest timed run, with a note. */
async function newestRun(db: StoreDatabase, name: string, io: Io): Promise<RunId> {
  const isRun = findRunsByPrefix(db, name).length > 0;
  const runs = isRun ? [] : await timedRunsOf(db, name, io);
  const [newest] = runs.toSorted((a, b) => compareTexts(b.startedAt ?? '', a.startedAt ?? ''));
  if (newest === undefined) return namedRun(db, name);
  io.err(`note: ${printable(name)} has several runs: taking the newest, ${newest.runId.slice(0, 8)}\n`);
  return newest.runId;
}

async function timedRunsOf(db: StoreDatabase, name: string, io: Io): Promise<CellRun[]> {
  const [sweep] = await sweepsOfName(db, name, io);
  if (sweep !== undefined) return cellRunsOf(db, [sweep.sweepId]).filter(({ role }) => role === 'timed');
  const cells = namedCells(db, allCells(db), [name]).filter((cell) => !isColdStart(cell));
  const keys = cells.map(({ key }) => key);
  return keys.length < 2 ? [] : [...newestRunsOf(db, keys).values()].flat();
}

/** The facts that an allow-list contains; the rest becomes `withheld`. */
function knownOf(repro: ReproOutput): ReproOutput {
  const { environment, git, start } = repro;
  const variables = Object.entries(start?.env ?? {});
  const unknown = variables.flatMap(([name]) => (isStoredVariable(name) ? [] : [name]));
  const env = Object.fromEntries(variables.filter(([name]) => isStoredVariable(name)));
  const known = start && { ...start, env, withheld: [...start.withheld, ...unknown] };
  const anonymous = { environment: { ...environment, container: null }, git: { ...git, branch: null } };
  return { ...repro, ...anonymous, start: known, withheld: repro.withheld + unknown.length };
}

/** Adds what was run and how, the layers of the engines, and the files of each run once. */
async function addSides(bundle: BundleFiles, sides: readonly Side[], { db, path }: OpenStore, signal: AbortSignal) {
  const added = new Set<RunId>();
  for (const { engine, name, repro } of sides) {
    bundle.add(`${name}/repro.json`, repro);
    try {
      bundle.add(`${name}/repro.sh`, reproScript(repro));
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      bundle.leaveOut(`${name}/repro.sh`, error.message);
    }
    if (engine !== null) bundle.add(`${name}/layers.json`, layerTable(engine));
    else bundle.leaveOut(`${name}/layers.json`, 'no layers are known: `bench run --profile` records them');
    const why = ['they may hold secrets', ...(repro.start?.withheld ?? [])].join(', ');
    if (repro.withheld > 0) bundle.leaveOut(`${name}: ${count(repro.withheld, 'variable')}`, why);
    const own = repro.role === 'build' ? 'build' : 'run';
    const runs = { [own]: repro.runId, build: repro.build?.runId, profile: engine?.runId };
    for (const [to, runId] of Object.entries(runs)) {
      if (!runId || added.has(runId)) continue;
      added.add(runId);
      const folder = runFolderOf(artefactsFolderOf(path), storedRun(db, runId).sweepId, runId);
      await bundle.addRun(`${name}/${to}`, folder, signal);
    }
  }
}

function bundleText({ bytes, file, files, leftOut, reduced }: ReproBundle, { columns }: Look): string[] {
  const written = `${count(files.length, 'file')}, ${formatBytes(bytes)}`;
  const lines = [
    `${printable(file)}: ${written}; names of hosts, users and GPUs are masked`,
    ...leftOut.map(({ name, why }) => `left out: ${name}: ${why}`),
  ];
  if (reduced !== null) {
    const { around, commands, nodesAfter, nodesBefore } = reduced;
    const what = `${reduced.layer} (${CHANGE_WORDS[reduced.change]}, ${signedMs(reduced.deltaMs)})`;
    lines.push(
      `reduced to ${nodesAfter} of ${nodesBefore} ONNX nodes: ${printable(what)}, with ${count(around, 'layer')} on each side`,
      ...reduced.notes.map((note) => printable(`note: ${note}`)),
      printable(`as base: ${commands.base}`),
      printable(`as head: ${commands.head}`),
    );
  }
  return lines.flatMap((line) => wrapHanging(line, columns, 2));
}
