import { join } from 'node:path';
import { rm } from 'node:fs/promises';

import type { SideRuns } from './turns.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { artefactsFolderOf, enginesFolderOf } from '../../artefacts/layout.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import type { Sweep } from '../../records/sweep.ts';
import { plannedSweep, storedOnce } from '../../run/planned-sweep.ts';
import { cellsWithoutEngine } from '../../engines/engine-state.ts';
import { runSweep, saveState } from '../../run/run-sweep.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { CellRun } from '../../records/run.ts';
import { findSweep, planOf } from '../../store/sweeps/sweeps.ts';
import { withLockedClocks } from '../../machine/lock-clocks.ts';
import { converterFor } from '../../variants/converter.ts';
import { openGpuWorker, sweepServices } from '../../run/gpu-worker.ts';
import { type Machine, machineOf } from '../../machine/machine.ts';
import { type OneCell, planOneCell } from './one-cell.ts';
import { enginesOf, type Session } from './state.ts';
import { BrokenSubjectError } from '../../run/checkout/user-command.ts';
import type { OpenedSubject, Subject } from './subject.ts';
import type { SweepId } from '../../records/scalars.ts';

interface Ready {
  readonly opened: OpenedSubject;
  readonly one: OneCell;
  readonly machine: Machine;
}

/** One subject with its runs: a sweep that grows run by run and is found again after a restart. */
export class Side {
  readonly subject: Subject;
  readonly sweepId: SweepId;
  private readonly session: Session;
  private ready: Ready | null = null;

  constructor(subject: Subject, session: Session) {
    this.subject = subject;
    this.session = session;
    const { bisectId, startedAt } = session.state();
    this.sweepId = hashOf({ bisectId, startedAt, subject: subject.key });
  }

  /** In order, measured or not. */
  get runs(): CellRun[] {
    const { cellKey } = this.session.state();
    return cellRunsOf(this.session.store.db, [this.sweepId], cellKey === null ? [] : [cellKey])
      .filter(({ role }) => role === 'timed')
      .toSorted((a, b) => a.repeat - b.repeat);
  }

  sideRuns(valueOf: (run: CellRun) => number | null): SideRuns {
    const { runs } = this;
    const values = runs.map((run) => (run.outcome.kind === 'measured' ? valueOf(run) : null));
    return { values, canRun: runs.length < (this.ready?.one.capacity ?? Infinity) };
  }

  /** @throws BrokenSubjectError */
  async open(): Promise<Ready> {
    if (this.ready !== null) return this.ready;
    const { io, save, state } = this.session;
    io.err(`preparing ${printable(this.subject.label)}\n`);
    const opened = await this.subject.open();
    const one = await planOneCell(opened, state().request.cell, state().cellKey);
    if (state().cellKey === null) await save({ cellKey: one.cell.key });
    const machine = await machineOf(one.program, opened.io);
    this.ready = { opened, one, machine };
    return this.ready;
  }

  /**
   * Measures and stores the next run.
   * @returns false when no run is left
   * @throws BrokenSubjectError
   */
  async measure(): Promise<boolean> {
    const { machine, one, opened } = await this.open();
    const { runs } = this;
    if (runs.length >= one.capacity) return false;
    await opened.beforeRun();
    const { io, store, telemetry } = this.session;
    const plan = one.planOf(runs.length + 1);
    const { program } = one;
    const converter = await converterFor(plan, null, opened.io);
    const note = (text: string): void => io.err(`note: ${printable(text)}\n`);
    const { coolDown, lockClocks, numa } = one;
    const stored = storedOnce(plan, program, converter, { coolDown, lockClocks, numa, telemetry });
    const sweep = this.sweepOf(one);
    const shared = {
      ...sweepServices(store, { plan, sweep }, converter, io, (event) => {
        if (event.kind === 'note') note(event.text);
      }),
      cache: new EngineCache(this.enginesFolder(opened, one)),
      mayChangeEngines: false,
      onEvent: () => {},
    };
    const lock = { request: lockClocks, isVerbose: false };
    const { skipped } = await withLockedClocks(lock, [machine], plan, program, opened.io, async ([locked]) => {
      const worker = await openGpuWorker(locked, program, stored, opened.io, note);
      return runSweep([{ ...shared, ...worker }], stored);
    });
    if (skipped === 0) return true;
    const [outcome] = cellsWithoutEngine(store.db, sweep, plan).values();
    const reason = outcome === undefined ? null : outcomeReason(outcome);
    throw new BrokenSubjectError(`its engine could not be built: ${reason ?? 'unknown'}`);
  }

  /** Finishes its sweep even after an interrupted run, so that `bench run --resume` ignores it. */
  async settle(): Promise<void> {
    const { io, store } = this.session;
    const sweep = findSweep(store.db, this.sweepId);
    const stored = readStoredPlan(planOf(store.db, this.sweepId));
    if (sweep === null || stored === null || sweep.state === 'finished') return;
    const finished = { ...sweep, state: 'finished' as const, finishedAt: io.now().toISOString() };
    const folders = { artefactsFolder: artefactsFolderOf(store.path), db: store.db };
    await saveState(folders, stored, finished);
  }

  /** Removes its worktree and the engines that no other subject can load. */
  async close(): Promise<void> {
    this.ready = null;
    await this.subject.close();
    await rm(this.ownEngines(), { recursive: true, force: true });
  }

  private enginesFolder(opened: OpenedSubject, { program }: OneCell): string {
    return program.recordings === null && opened.hasOwnEngines(program.file)
      ? this.ownEngines()
      : enginesFolderOf(this.session.store.path);
  }

  private ownEngines(): string {
    return join(enginesOf(this.session.folder), this.sweepId);
  }

  private sweepOf({ program, ...one }: OneCell): Sweep {
    const { io, store } = this.session;
    return plannedSweep(one.planOf(0), program, {
      ...this.subject.git,
      sweepId: this.sweepId,
      name: 'bisect',
      seed: null,
      startedAt: findSweep(store.db, this.sweepId)?.startedAt ?? io.now().toISOString(),
    });
  }
}
