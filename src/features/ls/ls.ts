import { artefactsFolderOf } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../errors.ts';
import { acceptedText, saidState } from '../../records/finding.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { AB_BRANCH, type Sweep, type SweepState } from '../../records/sweep.ts';
import { sweepLockHolder } from '../../run/planned-sweep.ts';
import { cellsOfSweeps, chooseCells } from '../../selection/by-name.ts';
import { allCells, findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { countSweeps, listSweeps, seriesOf, sweepsById, sweepsOfMachines } from '../../store/sweeps/find-sweeps.ts';
import { acknowledgementsOf, listFindings } from '../../store/sweeps/findings.ts';
import { cellNumbers, NO_SWEEP_NUMBERS, sweepNumbers, withReused } from '../../store/sweeps/overview.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { type Look, wrapHanging, wrapWords } from '../../terminal/look.ts';
import { count, runsAndEngines } from '../../terminal/numbers.ts';
import { numberColumn, renderTable, textColumn } from '../../terminal/table.ts';
import { cellLabel, labelIn } from '../../records/cell.ts';
import { describeCommit, provenanceText } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import { groupText, newestBatch } from '../check/index.ts';
import type { CellsOptions, MachinesOptions, NewestOptions } from './command.ts';
import type { CellsOutput, FindingsOutput, MachinesOutput, SweepsOutput } from './output.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import { findEnvironments, runsByEnvironment } from '../../store/sweeps/environments.ts';
import { compareTexts } from '../../text/canonical-json.ts';

export function listCells(options: CellsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = chooseCells(store.db, allCells(store.db), options.filter);
    const keys = found.map(({ key }) => key);
    const numbers = cellNumbers(store.db, keys);
    const none = { measured: 0, sweeps: 0, lastAt: null, provenances: [] };
    const listed = found.map((cell) => ({ ...cell, label: cellLabel(cell), ...(numbers.get(cell.key) ?? none) }));
    return printResult<CellsOutput>(io, options, { schemaVersion: 1, cells: listed }, cellsText);
  });
}

export function listStoredSweeps(options: NewestOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = listSweeps(store.db, options.last);
    const ids = found.map(({ sweepId }) => sweepId);
    const numbers = sweepNumbers(store.db, ids);
    const artefacts = artefactsFolderOf(store.path);
    // An unfinished sweep without a process was interrupted.
    const stateOf = ({ state, sweepId }: Sweep): SweepState =>
      state === 'running' && sweepLockHolder(artefacts, sweepId) === null ? 'interrupted' : state;
    const numbersOf = ({ sweepId }: Sweep) => numbers.get(sweepId) ?? NO_SWEEP_NUMBERS;
    const listed = found.map((sweep) => ({ ...sweep, state: stateOf(sweep), ...numbersOf(sweep) }));
    return printResult<SweepsOutput>(io, options, { schemaVersion: 1, sweeps: listed }, (output, look) =>
      sweepsText(output, countSweeps(store.db), look),
    );
  });
}

type ListedSweep = SweepsOutput['sweeps'][number];

function sweepsText({ sweeps }: SweepsOutput, stored: number, look: Look) {
  if (sweeps.length === 0) return ['no sweep is stored: `bench run` or `bench import` something'];
  const style = () => look.style.warn;
  // Experiments are known by name rather than by matrix.
  const matrixText = ({ branch, matrix, name }: ListedSweep) =>
    printable(branch === AB_BRANCH ? `${matrix}: ${name}` : (matrix ?? name ?? ''));
  const table = renderTable<ListedSweep>(
    [
      { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
      textColumn('started', ({ startedAt }) => (startedAt ?? '').slice(0, 16).replace('T', ' '), 1),
      { header: 'matrix', text: matrixText, minWidth: 8 },
      { header: 'commit', text: (row) => describeCommit(row), minWidth: 8, dropRank: 6 },
      { header: 'provenance', text: provenanceText, minWidth: 10 },
      { header: 'TensorRT', text: ({ tensorrt }) => tensorrt ?? '', dropRank: 9 },
      numberColumn('cells', (row) => String(row.cells), 8),
      textColumn('measured', (row) => runsAndEngines(withReused(row)), 5),
      numberColumn('flagged', ({ flagged }) => (flagged === 0 ? '' : String(flagged)), 7, { style }),
      { header: 'state', text: ({ state }) => (state === 'finished' ? '' : state), style },
    ],
    sweeps,
    look,
  );
  const more = `${sweeps.length} of ${stored} sweeps: --last ${stored} shows all`;
  return sweeps.length < stored ? [...table, look.style.dim(more)] : table;
}

function cellsText({ cells }: CellsOutput, look: Look): string[] {
  if (cells.length === 0) return ['no such cell is stored'];
  const { columns, caption } = cellColumns(cells, (cell) => cell);
  const table = renderTable<CellsOutput['cells'][number]>(
    [
      { header: 'cell', text: ({ key }) => key.slice(0, 8) },
      ...columns,
      numberColumn('sweeps', (row) => String(row.sweeps), 1),
      numberColumn('runs', (row) => String(row.measured), 3),
      { header: 'provenance', text: ({ provenances }) => provenances.join(', '), minWidth: 6 },
      { header: 'last', text: ({ lastAt }) => (lastAt ?? '').slice(0, 10), dropRank: 2 },
    ],
    cells,
    look,
  );
  return [...table, ...captionLines(caption, look)];
}

type ListedFinding = FindingsOutput['findings'][number];

export function listStoredFindings(options: NewestOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, ({ db }) => {
    const found = listFindings(db, options.last);
    const ids = found.map(({ findingId }) => findingId);
    const marks = acknowledgementsOf(db, ids);
    const cells = findCells(db, [...new Set(found.flatMap((finding) => finding.cells.map(({ cellKey }) => cellKey)))]);
    const sweeps = sweepsById(db, [...new Set(found.map(({ reportedSweepId }) => reportedSweepId))]);
    const startOf = new Map(sweeps.map(({ startedAt, sweepId }) => [sweepId, startedAt]));
    const batch = new Set(sweeps.flatMap((sweep) => [...newestBatch(db, seriesOf(db, sweep, 1)[0])]));
    const findings = found.map((finding): ListedFinding => {
      const { findingId: id, kind, direction, isWarning, matrix, branch, provenance, group } = finding;
      const about = { kind, direction, isWarning, matrix, branch, provenance, group };
      const { reportedSweepId } = finding;
      const keys = [...new Set(finding.cells.map(({ cellKey }) => cellKey))];
      const mark = marks.get(id);
      return {
        id,
        state: saidState(finding, mark !== undefined, batch),
        ...about,
        acknowledged: mark !== undefined,
        owner: mark?.owner ?? finding.owner,
        cells: keys,
        labels: keys.map((key) => labelIn(cells, key)),
        metrics: [...new Set(finding.cells.map(({ metric }) => metric))],
        reportedSweepId,
        reportedAt: startOf.get(reportedSweepId) ?? null,
      };
    });
    const output: FindingsOutput = { schemaVersion: 2, findings };
    return printResult(io, options, output, (_, look) => findingsText(findings, marks, io.now(), look));
  });
}

type Marks = ReturnType<typeof acknowledgementsOf>;

function findingsText(findings: readonly ListedFinding[], marks: Marks, now: Date, look: Look): string[] {
  if (findings.length === 0) return ['no finding is stored: `bench check` reported none, or judged no sweep yet'];
  const ageText = ({ reportedAt: at }: ListedFinding) =>
    at === null ? '' : count(Math.max(0, Math.floor((now.getTime() - Date.parse(at)) / DAY_MS)), 'day');
  const reasonOf = ({ id }: ListedFinding) => {
    const mark = marks.get(id);
    return mark === undefined ? '' : printable(acceptedText(mark));
  };
  return renderTable<ListedFinding>(
    [
      { header: 'finding', text: ({ id }) => id.slice(0, 8) },
      { header: 'state', text: ({ state }) => state },
      { header: 'what', text: ({ direction, kind }) => (kind === 'limit' ? 'limit' : direction), dropRank: 2 },
      numberColumn('age', ageText, 3),
      { header: 'owner', text: ({ owner }) => printable(owner ?? ''), dropRank: 4 },
      textColumn('matrix', ({ branch, matrix }) => printable([matrix, branch].filter(Boolean).join(' · ')), 6),
      textColumn('metrics', ({ metrics }) => metrics.map((id) => printable(gatedMetricOf(id).label)).join(', '), 5, {
        minWidth: 12,
      }),
      { header: 'cells', text: cellsOfFinding, minWidth: 12 },
      textColumn('reason', reasonOf, 7, { minWidth: 12 }),
    ],
    findings,
    look,
  );
}

function cellsOfFinding({ group, labels }: ListedFinding): string {
  if (labels.length === 1) return printable(labels[0] ?? '');
  return `${count(labels.length, 'cell')}${group.length === 0 ? '' : `, ${groupText(group)}`}`;
}

const DAY_MS = 86_400_000;

type ListedMachine = MachinesOutput['machines'][number];

const DEFAULT_AGE_S = 30 * 86_400;

export function listMachines(options: MachinesOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, ({ db }) => printResult(io, options, machinesOf(db, options), machinesText));
}

/** Machines, each one GPU of one host, with their results under the provenance of the newest sweep. */
function machinesOf(db: StoreDatabase, { filter, since = DEFAULT_AGE_S }: MachinesOptions): MachinesOutput {
  const [newest, ...older] = sweepsOfMachines(db);
  if (newest === undefined) return { schemaVersion: 1, provenance: null, machines: [] };
  const from = Date.parse(newest.startedAt ?? '') - 1000 * since;
  const recent = older.filter(({ provenance, startedAt }) => {
    return provenance === newest.provenance && !(Date.parse(startedAt ?? '') < from);
  });
  const ids = [newest, ...recent].map(({ sweepId }) => sweepId);
  const keys = filter === undefined ? null : cellsOfSweeps(db, ids, filter).map(({ key }) => key);
  const rows = runsByEnvironment(db, ids, keys);
  const environments = findEnvironments(db, [...new Set(rows.map(({ environmentId }) => environmentId))]);
  const environmentOf = (id: string) => environments.get(id) ?? UNKNOWN_ENVIRONMENT;
  const known = rows.map((row) => ({ ...row, environment: environmentOf(row.environmentId) }));
  const byMachine = Map.groupBy(known, ({ environment: of }) => JSON.stringify([of.host, of.gpuName, of.gpuUuid]));
  const groups = [...byMachine.values()];
  const hosts = groups.map(([first]) => first?.environment.host ?? null);
  const machines = groups.flatMap((own): ListedMachine[] => {
    const [last] = own.toSorted((a, b) => compareTexts(b.lastAt ?? '', a.lastAt ?? ''));
    const { driver, gpuName, gpuUuid, host, tensorrt } = last?.environment ?? UNKNOWN_ENVIRONMENT;
    const name = last === undefined ? '' : nameOf(last.environment, hosts);
    if (last === undefined || name === '' || gpuName === null) return [];
    const measured = own.reduce((sum, row) => sum + row.measured, 0);
    const others = own.reduce((sum, row) => sum + row.runs, 0) - measured;
    const sweeps = new Set(own.map(({ sweepId }) => sweepId)).size;
    return [{ name, host, gpuName, gpuUuid, driver, tensorrt, sweeps, lastAt: last.lastAt, measured, others }];
  });
  const sorted = machines.toSorted((a, b) => compareTexts(a.gpuName, b.gpuName) || compareTexts(a.name, b.name));
  return { schemaVersion: 1, provenance: newest.provenance, machines: sorted };
}

const SHORT_UUID = 12;

/** The host, with the GPU where a host has several. */
function nameOf({ gpuUuid, host }: Environment, hosts: readonly (string | null)[]): string {
  const uuid = gpuUuid?.slice(0, SHORT_UUID) ?? '';
  const isAlone = hosts.indexOf(host) === hosts.lastIndexOf(host);
  return host !== null && isAlone ? host : [host ?? '', uuid].join(' ').trim();
}

function machinesText({ machines, provenance }: MachinesOutput, look: Look): string[] {
  if (machines.length === 0) {
    return wrapWords('no such run names its GPU and its machine: `bench run` stores both', look.columns);
  }
  const table = renderTable<ListedMachine>(
    [
      { header: 'machine', text: ({ name }) => printable(name), minWidth: 10 },
      { header: 'GPU', text: ({ gpuName }) => printable(gpuName), minWidth: 10 },
      { header: 'TensorRT', text: ({ tensorrt }) => printable(tensorrt ?? ''), dropRank: 2 },
      { header: 'driver', text: ({ driver }) => printable(driver ?? ''), dropRank: 3 },
      numberColumn('sweeps', ({ sweeps }) => String(sweeps), 5),
      numberColumn('runs', ({ measured, others }) => `${measured}${others === 0 ? '' : ` of ${measured + others}`}`, 4),
      { header: 'last', text: ({ lastAt }) => (lastAt ?? '').slice(0, 10), dropRank: 1 },
    ],
    machines,
    look,
  );
  const legend = `${provenance ?? ''} runs; bench compare gpu=A gpu=B --across-gpu compares two of them`;
  return [...table, ...wrapHanging(legend, look.columns, 2).map(look.style.dim)];
}
