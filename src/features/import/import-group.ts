import { dirname, join, relative, resolve, sep } from 'node:path';

import { keepRun, restateKept } from '../../artefacts/copy-artefacts.ts';
import { RUN_MANIFEST, SWEEP_MANIFEST, isInside, runFolderOf } from '../../files/layout.ts';
import { cellOf, isUnnamed, roleOf, startOf, statedStart, toRunRecord } from '../../artefacts/read/identify.ts';
import { NOT_UNDERSTOOD, type ReadRun } from '../../artefacts/read/read-run.ts';
import { HAS_NO_EFFECT, readSource, type StandaloneReading } from '../../artefacts/read/read-source.ts';
import type { RunSource } from '../../artefacts/read/discover.ts';
import { folderFiles } from '../../artefacts/run-files.ts';
import { writeSweepManifest } from '../../artefacts/sweep-notes.ts';
import type { RunRecord } from '../../records/run.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';
import { type DateSource, type GitState, type Sweep, newSweep } from '../../records/sweep.ts';
import { highestRepeat } from '../../store/runs/runs.ts';
import { redateRun, importTimeOf, sweepSpan } from '../../store/sweeps/imports.ts';
import { findSweep, saveSweep, sweepOfRun } from '../../store/sweeps/sweeps.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { StatedCell } from '../../trtexec/cell-of-run.ts';
import { type RestoreContext, otherSweep, refuseOtherSweep, restoreSweep, readSweepManifest } from './restore-sweep.ts';

export interface ImportContext extends RestoreContext {
  readonly toolVersion: string;
  readonly git: GitState | null;
  /** Date for runs whose `run.json` has no start time; ISO 8601 in UTC. */
  readonly date: string | null;
  /** Hints for runs that do not state these facts themselves. */
  readonly standalone: StandaloneReading;
  readonly note: string | null;
  /** The sweep for runs that name none; null for a new one. */
  readonly into: Sweep | null;
  readonly onNote: (text: string) => void;
  /** False: writes nothing next to the artefacts. */
  readonly keeps: boolean;
  /** Ends an import between two runs. Runs that were already imported stay. */
  readonly signal: AbortSignal;
}

export type ImportedSweep = ReturnType<typeof emptySweep>;

/** Runs of one folder form one sweep of this name, unless they name another. */
export type NamedSource = ReturnType<typeof nameSources>[number];

/**
 * Names the sweep of each source: the last two parts of the given path, then the path below it. `../logs/nights/1`
 * gives `nights/1` from any current folder.
 */
export function nameSources(given: string, sources: readonly RunSource[]) {
  const root = resolve(given);
  return sources.map((source) => {
    const folder = dirname(resolve(source.path));
    const base = folder.startsWith(root) ? root : folder;
    const head = base.split(sep).filter(Boolean).slice(-2);
    return { source, sweepName: [...head, ...relative(base, folder).split(sep)].filter(Boolean).join('/') };
  });
}

/** The first trtexec is from 2017. */
const FIRST_TENSORRT_MS = Date.UTC(2017, 0);
/** Clocks and time zones of two machines differ by less than this. */
export const AHEAD_MS = 86_400_000;

/** Number of runs read before the sweep of a group is decided. */
const PEEKED_RUNS = 200;
/** Waiting for files takes longer than parsing them. */
const READ_AT_ONCE = 8;
/** Artefacts are compressed in parallel, and their runs are stored in one transaction. */
const STORED_AT_ONCE = 16;

export class GroupImport {
  private readonly context: ImportContext;
  private readonly name: string;
  private readonly sweeps = new Map<string, ImportedSweep>();
  private readonly repeats = new Map<string, number>();
  /** Sweeps already resolved, with the folder that named them. */
  private readonly checked = new Set<string>();
  /** Logs that name neither a model nor an engine. */
  private readonly unnamed: string[] = [];
  private readonly impossibleDates: string[] = [];
  private readonly waiting = new Map<RunId, { readonly record: RunRecord; readonly kept: Promise<void> }>();

  constructor(context: ImportContext, name: string) {
    this.context = context;
    this.name = name;
  }

  async import(sources: readonly NamedSource[]): Promise<ImportedSweep[]> {
    const peeked: ReadRun[] = [];
    for await (const runs of this.read(sources.slice(0, PEEKED_RUNS))) peeked.push(...runs);
    const sweepId = this.settleSweep(peeked);
    try {
      for (let run = peeked.shift(); run !== undefined; run = peeked.shift()) await this.take(run, sweepId);
      for await (const runs of this.read(sources.slice(PEEKED_RUNS))) {
        for (const run of runs) await this.take(run, sweepId);
      }
    } finally {
      await this.storeKept();
    }
    for (const entry of this.sweeps.values()) await this.finish(entry);
    this.noteAll(
      this.unnamed,
      'names neither a model nor an engine: stored as a separate cell; to name it, remove the sweep (bench db rm) and import it with --model NAME --precision P',
    );
    this.noteAll(this.impossibleDates, 'ignored: not a possible date of a TensorRT run');
    return [...this.sweeps.values()];
  }

  private async *read(sources: readonly NamedSource[]): AsyncGenerator<ReadRun[]> {
    const { signal, standalone } = this.context;
    for (let at = 0; at < sources.length; at += READ_AT_ONCE) {
      const next = sources.slice(at, at + READ_AT_ONCE);
      const reading = next.map(({ source }) => readSource(source, standalone, { signal }));
      for (const runs of await Promise.allSettled(reading)) {
        signal.throwIfAborted();
        if (runs.status === 'rejected') throw runs.reason;
        yield this.stated(runs.value);
      }
    }
  }

  /** The runs with what the options state. `run.json` takes precedence, and runs of bench itself keep their notes. */
  private stated(runs: readonly ReadRun[]): ReadRun[] {
    const { date, into, standalone, note, onNote } = this.context;
    const sweep = into?.name ?? this.name;
    return runs.map((found) => {
      const { log, notes, path } = found;
      const problem = notes.find((text) => text.startsWith(NOT_UNDERSTOOD));
      if (problem !== undefined) onNote(`${path}: ${problem}; only the files next to it are used`);
      for (const ignored of notes.filter((text) => text.includes(HAS_NO_EFFECT))) onNote(`${path}: ${ignored}`);
      const run = this.withPossibleDate(withStatedCell(found, standalone.stated));
      if ((log.measurement !== null || log.excerpt !== null) && isUnnamed(run)) this.unnamed.push(path);
      const { manifest } = run;
      const { lone: single } = manifest;
      // The same standalone number in another sweep is another run.
      const isBare = single?.kind === 'report' && single.metric !== null;
      const added = note === null || manifest.runId !== null ? [] : [note];
      const startedAt = date !== null && statedStart(manifest) === null ? date : manifest.startedAt;
      const contentId = isBare ? hashOf({ run: run.contentId, sweep }) : run.contentId;
      const stated = { ...manifest, startedAt, notes: [...added, ...manifest.notes] };
      return { ...run, contentId, manifest: stated, notes: [...added, ...run.notes] };
    });
  }

  private noteAll(names: readonly string[], what: string): void {
    const [first] = names;
    const more = names.length > 1 ? ` and ${names.length - 1} more` : '';
    if (first !== undefined) this.context.onNote(`${first}${more}: ${what}`);
  }

  /** Drops an impossible date, as other programs may report one from a clock that was never set. */
  private withPossibleDate(run: ReadRun): ReadRun {
    const { log, manifest, path } = run;
    const start = startOf(run);
    if (manifest.runId !== null || start === null) return run;
    const time = Date.parse(start);
    if (time >= FIRST_TENSORRT_MS && time <= this.context.now().getTime() + AHEAD_MS) return run;
    this.impossibleDates.push(`${path}, ${start.slice(0, 10)}`);
    return { ...run, manifest: { ...manifest, startedAt: null }, log: { ...log, startedAtLocal: null } };
  }

  /**
   * Decides the sweep for runs that name none: the one of this name that some of them are in, or a new one. Runs stored
   * under another name stay there.
   */
  private settleSweep(runs: readonly ReadRun[]): string {
    const { db, into } = this.context;
    if (into !== null) return into.sweepId;
    for (const run of runs) {
      const known = sweepOfRun(db, run.contentId);
      if (known !== null && findSweep(db, known)?.name === this.name) return known;
    }
    const ids = runs.map(({ contentId }) => contentId).toSorted();
    return hashOf({ import: ids.find((id) => sweepOfRun(db, id) === null) ?? ids[0] ?? '' });
  }

  private async take(run: ReadRun, settled: string): Promise<void> {
    const stated = run.manifest.sweepId;
    const provenance = run.manifest.provenance ?? 'imported';
    const base = this.sweeps.get(settled)?.sweep.provenance ?? provenance;
    const runId = run.manifest.runId ?? run.contentId;
    if (this.waiting.has(runId)) await this.storeKept();
    const kept = this.context.writer.hasRun(runId);
    const settledId = base === provenance ? settled : hashOf({ settled, provenance });
    const sweepId = (kept ? sweepOfRun(this.context.db, runId) : null) ?? stated ?? settledId;
    await this.openSweep(sweepId, run, kept);
    if (!kept) await this.store(run, runId, sweepId);
    const isRedated = kept && (await this.redate(run, runId, sweepId));
    this.count(sweepId, run, !kept, isRedated);
  }

  private async openSweep(sweepId: SweepId, run: ReadRun, isStored: boolean): Promise<void> {
    const { db, artefactsFolder } = this.context;
    const folder = dirname(run.path);
    const opened = this.sweeps.get(sweepId);
    const joins = !isStored && run.manifest.sweepId === sweepId && !isInside(artefactsFolder, folder);
    if (opened !== undefined && (!joins || this.checked.has(`${sweepId} ${folder}`))) return;
    this.checked.add(`${sweepId} ${folder}`);
    const manifest = readSweepManifest(join(folder, SWEEP_MANIFEST));
    const stated = manifest?.sweep.sweepId === sweepId ? manifest : null;
    const sweep = opened?.sweep ?? findSweep(db, sweepId) ?? this.newSweep(sweepId, run);
    if (joins && stated === null && sweep.source === 'run') throw otherSweep(run.path, sweep);
    if (opened !== undefined) {
      if (stated !== null) refuseOtherSweep(stated.sweep, sweep, folder);
      return;
    }
    const found = { manifest: stated ?? { sweep, plan: null, importedAt: null }, path: folder };
    this.sweeps.set(sweepId, emptySweep(await restoreSweep(this.context, found)));
  }

  private newSweep(sweepId: SweepId, run: ReadRun): Sweep {
    const { git, toolVersion } = this.context;
    const provenance = run.manifest.provenance ?? 'imported';
    return newSweep({ ...git, sweepId, source: 'import', name: this.name, provenance, state: 'finished', toolVersion });
  }

  private async store(run: ReadRun, runId: RunId, sweepId: SweepId): Promise<void> {
    const { artefactsFolder } = this.context;
    const folder = runFolderOf(artefactsFolder, sweepId, runId);
    // A build that bench made has no repeat.
    const repeatOfRun = run.manifest.repeat ?? (run.manifest.runId === null ? this.nextRepeat(run, sweepId) : 1);
    const record = toRunRecord(run, { runId, sweepId, repeat: repeatOfRun, artefactFolder: `${sweepId}/${runId}` });
    const { role, repeat, cell, provenance } = record;
    const logIndex = run.index > 0 || run.manifest.logIndex !== null ? run.index : null;
    const manifest = { ...run.manifest, sweepId, runId, role, repeat, cell, provenance, logIndex };
    const stated = { ...manifest, omitted: [...run.exports.omitted] };
    const isContent = run.manifest.runId === null;
    const keep = async (): Promise<void> => keepRun(folder, await filesOf(run), stated, isContent);
    const kept = isInside(artefactsFolder, run.path) ? Promise.resolve() : keep();
    // A rejection is thrown later, in order.
    kept.catch(() => {});
    this.waiting.set(runId, { record, kept });
    if (this.waiting.size >= STORED_AT_ONCE) await this.storeKept();
  }

  /** Stores a run only after its artefacts are kept and the runs before it are stored. */
  private async storeKept(): Promise<void> {
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    const results = await Promise.allSettled(waiting.map(({ kept }) => kept));
    const refused = results.findIndex(({ status }) => status === 'rejected');
    this.context.writer.saveRuns(waiting.slice(0, refused < 0 ? undefined : refused).map(({ record }) => record));
    await waiting[refused]?.kept;
  }

  /** Sets the date of a foreign run that had none, or corrects it. */
  private async redate(run: ReadRun, runId: RunId, sweepId: SweepId): Promise<boolean> {
    const { artefactsFolder, date, db } = this.context;
    const startedAt = startOf(run);
    if (startedAt === null || run.manifest.runId !== null) return false;
    if (!redateRun(db, runId, startedAt, date !== null)) return false;
    if (date !== null) await restateKept(runFolderOf(artefactsFolder, sweepId, runId), { startedAt });
    return true;
  }

  private nextRepeat(run: ReadRun, sweepId: SweepId): number {
    const role = roleOf(run);
    const cellKey = role === 'build' ? null : cellOf(run).key;
    const key = `${sweepId} ${role} ${cellKey}`;
    const before = this.repeats.get(key) ?? highestRepeat(this.context.db, sweepId, role, cellKey);
    this.repeats.set(key, before + 1);
    return before + 1;
  }

  private count(sweepId: SweepId, run: ReadRun, isNew: boolean, isRedated: boolean): void {
    const entry = this.sweeps.get(sweepId);
    if (entry === undefined) return;
    const dateSource = isNew || isRedated ? dateSourceOf(run, this.context.date) : null;
    if (dateSource !== null && !entry.datesFrom.includes(dateSource)) entry.datesFrom.push(dateSource);
    if (isNew) entry.stored += 1;
    else entry.alreadyStored += 1;
    if (isRedated) entry.redated += 1;
    entry.outcomes[run.outcome.kind] += 1;
  }

  /** The times of an imported sweep follow from its runs. */
  private async finish(entry: ImportedSweep): Promise<void> {
    const { sweep, stored, redated } = entry;
    if (stored + redated === 0 || sweep.source !== 'import') return;
    const { db, artefactsFolder } = this.context;
    const spanned = { ...sweep, ...sweepSpan(db, sweep.sweepId) };
    saveSweep(db, spanned, null);
    this.sweeps.set(sweep.sweepId, { ...entry, sweep: spanned });
    if (!this.context.keeps) return;
    const importedAt = importTimeOf(db, sweep.sweepId);
    await writeSweepManifest(artefactsFolder, { sweep: spanned, plan: null, importedAt });
  }
}

/** What was imported into a sweep; `redated` counts stored runs whose date changed. */
export function emptySweep(sweep: Sweep) {
  const datesFrom: DateSource[] = [];
  const outcomes = { measured: 0, built: 0, unfit: 0, failed: 0 };
  return { sweep, stored: 0, alreadyStored: 0, outcomes, datesFrom, redated: 0 };
}

/** `run.json` takes precedence over hints. */
function withStatedCell(run: ReadRun, { model, precision, shapes, cudaGraph }: StatedCell): ReadRun {
  const { cell } = run.manifest;
  if (cell !== null && 'inputs' in cell) return run;
  const stated = { model, precision, shapes, cudaGraph, ...cell };
  if (Object.values(stated).every((value) => value === undefined)) return run;
  return { ...run, manifest: { ...run.manifest, cell: stated } };
}

function dateSourceOf(run: ReadRun, date: string | null): DateSource | null {
  const { startedAt } = run.manifest;
  if (statedStart(run.manifest) !== null) return startedAt === date ? 'option' : 'runJson';
  return startOf(run) === null ? null : 'logStamps';
}

async function filesOf(run: ReadRun): Promise<ReadonlyMap<string, string>> {
  if (run.sources !== undefined) return run.sources;
  const files = await folderFiles(run.path);
  files.delete(RUN_MANIFEST);
  return new Map([...files].map(([name, file]) => [join(run.path, file), name]));
}
