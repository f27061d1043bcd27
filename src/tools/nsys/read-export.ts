import { existsSync } from 'node:fs';

import Database from 'better-sqlite3';
import * as z from 'zod';

import { errorText, UsageError } from '../../errors.ts';
import { count, type Immutable } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';

const ms = z.number().min(0);
const named = z.strictObject({ name: z.string(), count, ms, maxMs: ms });

/** The work on the GPU in a capture, and the API calls that requested it; longest first. */
export const capturedWorkSchema = z.strictObject({
  nsysVersion: z.string().nullable(),
  exportSchema: z.string().nullable(),
  busyMs: ms.describe('Time with a kernel or copy on the GPU, summed over GPUs'),
  spanMs: ms.describe('Time from the first kernel or copy to the end of the last'),
  kernels: z.array(named),
  copies: z.array(z.strictObject({ kind: z.string(), count, bytes: count, ms })),
  calls: z.array(named),
});

export type CapturedWork = Immutable<z.infer<typeof capturedWorkSchema>>;

// Tables and columns. Source: "SQLite Schema Reference" of Nsight Systems' documentation (exported_data.html of
// 2021.5), and `.schema` of an export of 2024.6.2 (EXPORT_SCHEMA_VERSION 3.16.1). Times are nanoseconds. Empty tables
// do not exist.
const KERNELS = 'CUPTI_ACTIVITY_KIND_KERNEL';
const CALLS = 'CUPTI_ACTIVITY_KIND_RUNTIME';
const COPIES = 'CUPTI_ACTIVITY_KIND_MEMCPY';
const SETS = 'CUPTI_ACTIVITY_KIND_MEMSET';
const COPY_KINDS = 'ENUM_CUDA_MEMCPY_OPER';
const ABOUT = 'META_DATA_EXPORT';

const NO_EXPORT = 'is not an SQLite export of Nsight Systems 2021.5 or newer (`nsys export --type sqlite` makes one)';

/** Tables without which nothing can be read, and what writes them. */
const NEEDED = {
  StringIds: `it ${NO_EXPORT}`,
  [KERNELS]:
    'no kernel was traced; capture with `-t cuda,nvtx`, and with `--cuda-graph-trace=node` when CUDA graphs are on',
  [CALLS]: 'no CUDA call was traced; capture with `-t cuda,nvtx`',
};

/** @throws UsageError if it is not an SQLite export of Nsight Systems, or lacks a required table */
export function readNsysExport(path: string): CapturedWork {
  const shown = printable(path);
  if (!existsSync(path)) throw new UsageError(`${shown}: file not found`);
  try {
    const client = new Database(path, { readonly: true, fileMustExist: true });
    try {
      return readTables(client, shown);
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${shown} ${NO_EXPORT}: ${errorText(error)}`, { cause: error });
  }
}

function readTables(client: Database.Database, shown: string): CapturedWork {
  const rows = <Row>(sql: string): Row[] => client.prepare<[], Row>(sql).all();
  const found = rows<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`);
  const tables = new Set(found.map(({ name }) => name));
  for (const [table, wanted] of Object.entries(NEEDED)) {
    if (!tables.has(table)) throw new UsageError(`${shown} has no table ${table}: ${wanted}`);
  }
  const about = (name: string): string | null =>
    tables.has(ABOUT)
      ? (rows<{ value: string }>(`SELECT value FROM ${ABOUT} WHERE name = '${name}'`)[0]?.value ?? null)
      : null;
  const works = [KERNELS, COPIES, SETS].filter((table) => tables.has(table));
  // Of one device, overlaps count once: `until` is the end of all work that began before.
  const [{ busyMs, spanMs } = { busyMs: 0, spanMs: 0 }] = rows<Pick<CapturedWork, 'busyMs' | 'spanMs'>>(
    `WITH work AS (${works.map((table) => `SELECT deviceId, start, end FROM ${table}`).join(' UNION ALL ')}),
       ordered AS (SELECT *, max(end) OVER (PARTITION BY deviceId ORDER BY start
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until FROM work WHERE end IS NOT NULL),
       devices AS (SELECT sum(max(0, end - max(start, coalesce(until, start)))) AS busy, max(end) - min(start) AS span
         FROM ordered GROUP BY deviceId)
     SELECT coalesce(sum(busy), 0) / 1e6 AS busyMs, coalesce(sum(span), 0) / 1e6 AS spanMs FROM devices`,
  );
  return {
    nsysVersion: about('EXPORT_PRODUCT_VERSION'),
    exportSchema: about('EXPORT_SCHEMA_VERSION'),
    busyMs,
    spanMs,
    kernels: rows(sumsByName(KERNELS, 'shortName')),
    copies: rows(copySums(tables)),
    // Removes the version of the interface, as in `cudaLaunchKernel_v7000`.
    calls: rows<CapturedWork['calls'][number]>(sumsByName(CALLS, 'nameId')).map((call) => ({
      ...call,
      name: call.name.replace(/_v\d{4,}$/, ''),
    })),
  };
}

function sumsByName(table: string, column: string): string {
  return `SELECT coalesce(s.value, '') AS name, count(*) AS count, sum(e.end - e.start) / 1e6 AS ms,
            max(e.end - e.start) / 1e6 AS maxMs
          FROM ${table} e LEFT JOIN StringIds s ON s.id = e.${column} GROUP BY e.${column} ORDER BY ms DESC, name`;
}

function copySums(tables: ReadonlySet<string>): string {
  const label = tables.has(COPY_KINDS) ? `(SELECT label FROM ${COPY_KINDS} k WHERE k.id = copyKind)` : 'NULL';
  const kinds = [
    ...(tables.has(COPIES) ? [[COPIES, `coalesce(${label}, 'copy kind ' || copyKind)`]] : []),
    ...(tables.has(SETS) ? [[SETS, "'Memset'"]] : []),
  ];
  const selects = kinds.map(
    ([table, kind]) =>
      `SELECT ${kind} AS kind, count(*) AS count, sum(bytes) AS bytes, sum(end - start) / 1e6 AS ms FROM ${table} GROUP BY 1`,
  );
  return selects.length === 0 ? 'SELECT 1 WHERE 0' : `${selects.join(' UNION ALL ')} ORDER BY ms DESC`;
}
