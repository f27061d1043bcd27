import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { artefactsFolderOf, RUN_MANIFEST, runFolderOf } from '../../artefacts/layout.ts';
import { RunFiles } from '../../artefacts/run-files.ts';
import { parseRunManifest } from '../../artefacts/run-manifest.ts';
import { zipped } from '../../artefacts/zip.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactedText, redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { BenchError, errorText, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { changeRows } from '../../layers/change-rows.ts';
import { diffLayers } from '../../layers/diff-layers.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { isStoredVariable } from '../../process/environment-variables.ts';
import { isMeasured } from '../../records/run.ts';
import type { RunId } from '../../records/scalars.ts';
import { storedRun } from '../../selection/by-name.ts';
import { type CellPoint, resolvePoints } from '../../selection/cell-points.ts';
import { newestRun } from '../../selection/newest-run.ts';
import { profiledPoint, profiledRun } from '../../selection/profiled-engine.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type Look, makeLook } from '../../terminal/look.ts';
import { count, formatBytes, signedMs } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { RelativePaths } from '../../text/relative-paths.ts';
import { ownLines } from '../../trtexec/log/trtexec-log.ts';
import { CHANGE_WORDS, layersDiffOutput, layersDiffText, layerTable } from '../layers/index.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction } from './gather.ts';
import type { Reduced, ReproBundle, ReproOutput } from './output.ts';
import { reduceModel } from './reduce.ts';
import { reproScript } from './script.ts';
import { reproText } from './text.ts';

/** The build that a bug report is about, or the good one that it is compared with. */
interface Side {
  readonly name: 'head' | 'base';
  readonly repro: ReproOutput;
  readonly engine: ProfiledEngine | null;
  /** Null for a build, which belongs to no single cell. */
  readonly point: CellPoint | null;
}

const PLAIN = makeLook(100, false);
const MAX_FILE_BYTES = 4 << 20;
/** Of a longer log: its options are at the start, what went wrong at the end. */
const HEAD_BYTES = 1 << 20;
const LOGS = ['stdout.log', 'stderr.log'] as const;
/** Written by trtexec, or by bench: names and numbers of layers and queries. */
const EXPORTS = ['layers.json', 'profile.json', 'times.json', 'telemetry.csv'];
/** What a manifest says of the process, without text that somebody wrote. */
const RUN_FACTS =
  'schemaVersion role repeat requested limits buildId engineKey engineSha256 engineBytes timingCacheSha256 argv marks provenance exitCode signal timedOut attempt cancelled startedAt wallS'.split(
    ' ',
  );

/** What goes into a bundle, in the order of importance: what is not known, or no longer fits, is left out, and said. */
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

  /** @param value a text, the bytes of a file, or what becomes JSON with relative paths */
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

  /** The logs, manifest and exports in the folder of a run. @param to their folder in the bundle */
  async addRun(to: string, folder: string, signal: AbortSignal): Promise<void> {
    const run = await RunFiles.of(folder, signal).catch(() => null);
    if (run === null || run.names.length === 0) {
      return this.leaveOut(`${to}/`, 'the files of this run are not kept any more');
    }
    const taken = [RUN_MANIFEST, ...LOGS, ...EXPORTS];
    for (const name of taken.filter((each) => run.has(each))) {
      await this.#addFile(run, name, `${to}/${name}`).catch((error: unknown) =>
        this.leaveOut(`${to}/${name}`, `cannot be read: ${errorText(error)}`),
      );
    }
    for (const name of run.names.filter((each) => !taken.includes(each)).toSorted()) {
      this.leaveOut(`${to}/${name}`, 'none of the files that a bundle takes');
    }
  }

  async #addFile(run: RunFiles, name: string, as: string): Promise<void> {
    if (EXPORTS.includes(name)) {
      const bytes = await run.whole(name);
      if (bytes.length <= MAX_FILE_BYTES) return this.add(as, String(bytes));
      return this.leaveOut(as, `${formatBytes(bytes.length)}, and a file takes ${formatBytes(MAX_FILE_BYTES)}`);
    }
    if (name === RUN_MANIFEST) {
      const reading = parseRunManifest(String(await run.whole(name)));
      if (reading.kind === 'faulty') return this.leaveOut(as, reading.problem);
      const facts = Object.entries(reading.manifest).filter(([fact]) => RUN_FACTS.includes(fact));
      return this.add(as, Object.fromEntries(facts));
    }
    const { others, texts } = await ownLines(run.chunks(name), name === 'stderr.log' ? 'stderr' : 'stdout');
    if (others > 0) this.leaveOut(as, `${count(others, 'line')} that trtexec's logger did not write, or verbose`);
    const text = this.#paths.text(texts.map((line) => `${line}\n`).join(''));
    const excess = text.length - MAX_FILE_BYTES;
    if (excess > 0) {
      this.leaveOut(as, `${formatBytes(excess)} in its middle, as a file takes ${formatBytes(MAX_FILE_BYTES)}`);
      this.add(as, `${text.slice(0, HEAD_BYTES)}\n[…]\n${text.slice(HEAD_BYTES + excess)}`);
    } else if (text !== '') this.add(as, text);
  }
}

/** One zip file to attach to a bug report: equal bytes for equal results, of what is known to be fit, of a limited size. */
export async function writeBundle(name: string, file: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { base: ref, force, maxMib, reduce: layer, script } = options;
  if (script !== undefined) throw new UsageError('the script is in the bundle: leave --script out');
  if (file === '-') throw new UsageError('a zip file is binary: name a file, --bundle bug.zip');
  if (force !== true && existsSync(resolve(io.cwd, file))) {
    throw new UsageError(`${printable(file)} exists: --force replaces it`);
  }
  if (layer !== undefined && ref === undefined) {
    throw new UsageError('--reduce needs the good build to compare with: --base latest~1');
  }
  return withStore(options, io, async (store) => {
    const found = await sidesOf(store, await newestRun(store.db, name, io), ref, io);
    const made = layer === undefined ? null : await reducedOf(layer, found, options, io);
    const paths = new RelativePaths(found.map(({ repro }) => repro));
    const sides = found.map((side) => ({ ...side, repro: paths.copy(knownOf(side.repro)) }));
    const reduced = made && paths.copy(made.output);
    const bundle = new BundleFiles(maxMib, paths);
    for (const side of sides) addReproduction(bundle, side);
    if (made !== null) bundle.add('reduced/model.onnx', made.model);
    addLayers(bundle, sides);
    for (const { name: side } of sides) bundle.leaveOut(`${side}/matrix.yaml`, 'somebody wrote it');
    await addRuns(bundle, sides, store, io.signal);
    for (const { name: side, repro } of sides) {
      const { start, withheld } = repro;
      const named = start === null || start.withheld.length === 0 ? '' : `, among them ${start.withheld.join(', ')}`;
      if (withheld > 0)
        bundle.leaveOut(`${side}: ${count(withheld, 'variable')}`, `not known to hold no secret${named}`);
    }
    if (paths.count > 0) {
      bundle.leaveOut(`absolute paths in ${count(paths.count, 'folder')}`, 'folder-1 and so on in their place');
    }
    bundle.add('README.txt', readmeText(reduced, sides, bundle));
    const files = bundle.files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const texts = files.flatMap(({ content }) => (typeof content === 'string' ? [content] : []));
    const redaction = redactionFor(io, options, texts.join('\n'));
    const hidden = files.map(({ content, name: as }) => {
      return {
        name: as,
        content: typeof content === 'string' ? Buffer.from(redactedText(content, redaction)) : content,
      };
    });
    const zip = zipped(
      hidden.map(({ content, name: as }) => ({ name: as, pieces: () => [content], isDeflated: true })),
    );
    const written: ReproBundle = {
      schemaVersion: 1,
      file,
      bytes: await writeOutput(file, zip, io),
      runId: found[0].repro.runId,
      baseRunId: found[1]?.repro.runId ?? null,
      files: hidden.map(({ content, name: as }) => ({ name: as, bytes: content.length })),
      leftOut: bundle.leftOut,
      reduced,
    };
    printResult(io, options, written, bundleText);
    return EXIT_CODES.fine;
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
  const isSameCell = base.cell.key === head.cell.key;
  const newer: Side = { name: 'head', repro, engine: profiledPoint(db, head, isSameCell), point: head };
  if (ref === undefined) return [newer];
  const engine = profiledPoint(db, base, isSameCell);
  const sweepIds = base.sweeps.map(({ sweepId }) => sweepId);
  const timed = cellRunsOf(db, sweepIds, [base.cell.key]).find(isMeasured);
  const baseRun = base.runId ?? timed?.runId ?? engine?.runId;
  if (baseRun === undefined) throw new UsageError(`--base ${printable(ref)}: nothing was measured there`);
  return [newer, { name: 'base', repro: await gatherReproduction(store, baseRun, io.cwd), engine, point: base }];
}

function reducedOf(layer: string, [head, base]: readonly [Side, ...Side[]], options: ReproOptions, io: Io) {
  const cell = head.point?.cell;
  if (cell === undefined || base?.point === undefined || cell.key !== base.point?.cell.key) {
    throw new UsageError('--reduce compares two builds of one cell: name another sweep, commit or run with --base');
  }
  if (head.engine === null || base.engine === null) {
    const { point } = head.engine === null ? head : base;
    throw new UsageError(
      `--reduce: no layers are known of ${printable(point?.ref ?? '')}; \`bench run --profile\` takes them`,
    );
  }
  if (head.engine.runId === base.engine.runId) {
    throw new UsageError('--reduce: the layers of both sides are of the same run: name another build with --base');
  }
  const diff = diffLayers(layerFactsOf(base.engine.layers), layerFactsOf(head.engine.layers));
  return reduceModel(layer, cell, diff, { base: base.repro, head: head.repro }, options, io);
}

/** Without what an allow-list does not have. */
function knownOf(repro: ReproOutput): ReproOutput {
  const { environment, git, start, withheld } = repro;
  const all = Object.entries(start?.env ?? {});
  const env = all.filter(([name]) => isStoredVariable(name));
  const unknown = all.flatMap(([name]) => (isStoredVariable(name) ? [] : [name]));
  return {
    ...repro,
    environment: { ...environment, container: null },
    git: { ...git, branch: null },
    start: start && { ...start, env: Object.fromEntries(env), withheld: [...start.withheld, ...unknown] },
    withheld: withheld + unknown.length,
  };
}

function addReproduction(bundle: BundleFiles, { name, repro }: Side): void {
  bundle.add(`${name}/repro.json`, repro);
  try {
    bundle.add(`${name}/repro.sh`, reproScript(repro));
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    bundle.leaveOut(`${name}/repro.sh`, error.message);
  }
}

function addLayers(bundle: BundleFiles, sides: readonly Side[]): void {
  for (const { engine, name } of sides) {
    if (engine !== null) bundle.add(`${name}/layers.json`, layerTable(engine));
    else bundle.leaveOut(`${name}/layers.json`, 'no layers are known: `bench run --profile` takes them');
  }
  const [head, base] = sides.map(({ engine }) => engine);
  if (!head || !base) return;
  const diff = diffLayers(layerFactsOf(base.layers), layerFactsOf(head.layers));
  const output = layersDiffOutput(base, head, diff, changeRows(diff));
  const details = { opened: null, top: Infinity, smClockMhz: [null, null] } as const;
  bundle.add('layers-diff.json', output);
  bundle.add('layers-diff.txt', `${layersDiffText(output, details, PLAIN).join('\n')}\n`);
}

async function addRuns(bundle: BundleFiles, sides: readonly Side[], { db, path }: OpenStore, signal: AbortSignal) {
  const seen = new Set<RunId>();
  for (const role of ['run', 'build', 'profile'] as const) {
    for (const { engine, name, repro } of sides) {
      const runId = { run: repro.runId, build: repro.build?.runId ?? null, profile: engine?.runId ?? null }[role];
      if (runId === null || seen.has(runId)) continue;
      seen.add(runId);
      const folder = runFolderOf(artefactsFolderOf(path), storedRun(db, runId).sweepId, runId);
      await bundle.addRun(`${name}/${repro.role === 'build' ? 'build' : role}`, folder, signal);
    }
  }
}

function bundleText({ bytes, file, files, leftOut, reduced }: ReproBundle, { columns }: Look): string[] {
  const lines = [
    `${printable(file)}: ${count(files.length, 'file')}, ${formatBytes(bytes)}; names of hosts, users and GPUs are masked`,
    ...leftOut.map(({ name, why }) => `left out: ${name}: ${why}`),
    ...reducedLines(reduced),
  ];
  return lines.flatMap((line) => wrapHanging(line, columns, 2));
}

function reducedLines(reduced: Reduced | null): string[] {
  if (reduced === null) return [];
  const { around, change, commands, deltaMs, layer, matching, nodesAfter, nodesBefore, nodesOfLayer, notes } = reduced;
  const others = matching === 1 ? '' : `; of ${matching} layers that fit, the one that changed most`;
  return [
    `reduced to ${nodesAfter} of ${nodesBefore} ONNX nodes: ${nodesOfLayer} of ${printable(layer)} (${CHANGE_WORDS[change]}, ${signedMs(deltaMs)}${others}), ${nodesAfter - nodesOfLayer} around it (--around ${around})`,
    ...notes.map((note) => `note: ${printable(note)}`),
    `as base: ${printable(commands.base)}`,
    `as head: ${printable(commands.head)}`,
  ];
}

/** It begins with what `bench repro` prints of each side. */
function readmeText(reduced: Reduced | null, sides: readonly Side[], { files, leftOut }: BundleFiles): string {
  const lines = [
    'Written by `bench repro --bundle`. It has what an allow-list knows. Names of hosts, users and GPUs are masked, and absolute paths replaced, each by the same word everywhere.',
    ...sides.flatMap(({ name, repro }) => [
      '',
      `== ${name}${name === 'base' ? ' (the good build)' : ''}`,
      ...reproText(repro, PLAIN),
    ]),
    ...(reduced === null ? [] : ['', '== reduced model', ...reducedLines(reduced)]),
    '',
    '== files',
    ...files.map(({ name }) => name).toSorted(),
    ...(leftOut.length === 0 ? [] : ['', '== left out']),
    ...leftOut.map(({ name, why }) => `${name}: ${why}`),
  ];
  return `${lines.join('\n')}\n`;
}
