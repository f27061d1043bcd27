import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import { cellsOfSweeps } from '../../selection/by-name.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findEnvironments, runsByEnvironment } from '../../store/sweeps/environments.ts';
import { sweepsOfMachines } from '../../store/sweeps/find-sweeps.ts';
import type { Look } from '../../terminal/look.ts';
import { renderTable, numberColumn } from '../../terminal/table.ts';
import { wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { compareTexts } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import type { MachinesOptions } from './command.ts';
import type { MachinesOutput } from './output.ts';

type ListedMachine = MachinesOutput['machines'][number];

const DEFAULT_AGE_S = 30 * 86_400;

export function listMachines(options: MachinesOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, ({ db }) =>
    printResult(io, options, machinesOf(db, options), (output, look) =>
      machinesText(output, options.filter !== undefined, look),
    ),
  );
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
  const known = rows.map((row) => ({
    ...row,
    environment: environments.get(row.environmentId) ?? UNKNOWN_ENVIRONMENT,
  }));
  const groups = [...Map.groupBy(known, ({ environment }) => identityOf(environment)).values()];
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

function identityOf({ gpuName, gpuUuid, host }: Environment): string {
  return JSON.stringify([host, gpuName, gpuUuid]);
}

const SHORT_UUID = 12;

/** The host, with the GPU where a host has several. */
function nameOf({ gpuUuid, host }: Environment, hosts: readonly (string | null)[]): string {
  const uuid = gpuUuid?.slice(0, SHORT_UUID) ?? '';
  const isAlone = hosts.indexOf(host) === hosts.lastIndexOf(host);
  return host !== null && isAlone ? host : [host ?? '', uuid].join(' ').trim();
}

function machinesText({ machines, provenance }: MachinesOutput, isFiltered: boolean, look: Look): string[] {
  if (machines.length === 0) {
    const what = isFiltered ? 'no run that matches the filter' : 'no run';
    return wrapWords(`${what} names its GPU and its machine: \`bench run\` stores both`, look.columns);
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
