import Database from 'better-sqlite3';
import * as z from 'zod';

import { UsageError } from '../../errors.ts';
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
  pauses: z
    .array(
      z.strictObject({
        reason: z.enum(['garbageCollection', 'interpreterLock']),
        count,
        ms: ms.describe('Total time; overlaps count once'),
        gpuIdleMs: ms.describe('Time without work on any GPU, between the first and the last work'),
      }),
    )
    .describe('Pauses of Python threads in the capture'),
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
const RANGES = 'NVTX_EVENTS';
const ABOUT = 'META_DATA_EXPORT';

const NEEDED = [
  {
    table: 'StringIds',
    columns: ['id', 'value'],
    wanted: 'it is not an SQLite export of Nsight Systems; `nsys export --type sqlite` makes one',
  },
  {
    table: KERNELS,
    columns: ['start', 'end', 'deviceId', 'shortName'],
    wanted:
      'no kernel was traced; capture with `-t cuda,nvtx`, and with `--cuda-graph-trace=node` when CUDA graphs are on',
  },
  { table: CALLS, columns: ['start', 'end', 'nameId'], wanted: 'no CUDA call was traced; capture with `-t cuda,nvtx`' },
];

/**
 * Ranges of Python: TensorRT-LLM opens "Python GC" with TLLM_PROFILE_RECORD_GC (py_executor.py), and `-t python-gil`
 * opens the other.
 */
const PAUSES = [
  ['Python GC', 'garbageCollection'],
  ['Waiting for GIL', 'interpreterLock'],
] as const;

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** @throws UsageError if it is not an SQLite export of Nsight Systems, or lacks a required table */
export function readNsysExport(path: string): CapturedWork {
  const client = opened(path);
  try {
    const tables = tablesOf(client, path);
    const rows = <Row>(sql: string): Row[] => client.prepare<[], Row>(sql).all();
    const about = (name: string): string | null =>
      tables.has(ABOUT)
        ? (rows<{ value: string }>(`SELECT value FROM ${ABOUT} WHERE name = '${name}'`)[0]?.value ?? null)
        : null;
    const works = [KERNELS, COPIES, SETS].filter((table) => tables.has(table));
    const spans = (sql: string) =>
      // Times may count from 1970, beyond the range of exact numbers, so they are made relative in SQL.
      rows<Span & { readonly of: string | number }>(
        `WITH e AS (${sql}) SELECT of, (start - (SELECT min(start) FROM ${KERNELS})) / 1e6 AS startMs,
                (end - (SELECT min(start) FROM ${KERNELS})) / 1e6 AS endMs FROM e WHERE end IS NOT NULL`,
      );
    const work = spans(works.map((table) => `SELECT deviceId AS of, start, end FROM ${table}`).join(' UNION ALL '));
    const devices = [...Map.groupBy(work, ({ of }) => of).values()].map(merged);
    const pauses = tables.get(RANGES)?.has('textId')
      ? spans(
          `SELECT coalesce(text, (SELECT value FROM StringIds s WHERE s.id = textId)) AS of, start, end FROM ${RANGES}`,
        )
      : [];
    return {
      nsysVersion: about('EXPORT_PRODUCT_VERSION'),
      exportSchema: about('EXPORT_SCHEMA_VERSION'),
      busyMs: devices.reduce((sum, busy) => sum + lengthMs(busy), 0),
      spanMs: devices.reduce((sum, busy) => sum + ((busy.at(-1)?.endMs ?? 0) - (busy[0]?.startMs ?? 0)), 0),
      kernels: rows(sumsByName(KERNELS, 'shortName')),
      copies: rows(copySums(tables)),
      // Removes the version of the interface, as in `cudaLaunchKernel_v7000`.
      calls: rows<CapturedWork['calls'][number]>(sumsByName(CALLS, 'nameId')).map((call) => ({
        ...call,
        name: call.name.replace(/_v\d{4,}$/, ''),
      })),
      pauses: PAUSES.flatMap(([name, reason]) => {
        const own = pauses.filter(({ of }) => of === name);
        return own.length === 0 ? [] : [{ reason, count: own.length, ...idleWithin(merged(own), merged(work)) }];
      }),
    };
  } finally {
    client.close();
  }
}

function opened(path: string): Database.Database {
  if (/\.(?:nsys-rep|qdrep|qdstrm)$/.test(path)) {
    throw new UsageError(
      `${printable(path)} is a report of Nsight Systems: \`nsys export --type sqlite\` makes the file that is read`,
    );
  }
  try {
    return new Database(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw new UsageError(`${printable(path)}: file not found or not readable`, { cause: error });
  }
}

/** The columns of each table. */
function tablesOf(client: Database.Database, path: string): ReadonlyMap<string, ReadonlySet<string>> {
  let rows: readonly { readonly name: string; readonly column: string }[];
  try {
    rows = client
      .prepare<[], { name: string; column: string }>(
        `SELECT t.name, c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`,
      )
      .all();
  } catch (error) {
    throw new UsageError(`${printable(path)} is not an SQLite export of Nsight Systems`, { cause: error });
  }
  const byTable = Map.groupBy(rows, ({ name }) => name);
  const tables = new Map([...byTable].map(([name, own]) => [name, new Set(own.map(({ column }) => column))]));
  for (const { columns, table, wanted } of NEEDED) {
    const found = tables.get(table);
    if (found === undefined) throw new UsageError(`${printable(path)} has no table ${table}: ${wanted}`);
    const missing = columns.find((column) => !found.has(column));
    if (missing === undefined) continue;
    throw new UsageError(
      `${printable(path)}: its table ${table} has no column ${missing}, so bench does not know its schema; export it again with Nsight Systems 2021.5 or newer`,
    );
  }
  return tables;
}

function sumsByName(table: string, column: string): string {
  return `SELECT coalesce(s.value, '') AS name, count(*) AS count, sum(e.end - e.start) / 1e6 AS ms,
            max(e.end - e.start) / 1e6 AS maxMs
          FROM ${table} e LEFT JOIN StringIds s ON s.id = e.${column} GROUP BY e.${column} ORDER BY ms DESC, name`;
}

function copySums(tables: ReadonlyMap<string, unknown>): string {
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

/** Merges spans that overlap; the result is in order of time. */
function merged(spans: readonly Span[]): Span[] {
  const apart: { readonly startMs: number; endMs: number }[] = [];
  for (const { startMs, endMs } of spans.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = apart.at(-1);
    if (last !== undefined && startMs <= last.endMs) last.endMs = Math.max(last.endMs, endMs);
    else apart.push({ startMs, endMs });
  }
  return apart;
}

function lengthMs(spans: readonly Span[]): number {
  return spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
}

/** Length of the spans, and the part of it between spans of work. Neither kind overlaps itself. */
function idleWithin(spans: readonly Span[], work: readonly Span[]) {
  const [firstMs, lastMs] = [work[0]?.startMs ?? 0, work.at(-1)?.endMs ?? 0];
  let [gpuIdleMs, from] = [0, 0];
  for (const { startMs, endMs } of spans) {
    gpuIdleMs += Math.max(0, Math.min(endMs, lastMs) - Math.max(startMs, firstMs));
    while ((work[from]?.endMs ?? Infinity) <= startMs) from += 1;
    for (let at = from; (work[at]?.startMs ?? Infinity) < endMs; at += 1) {
      gpuIdleMs -= Math.min(work[at]?.endMs ?? 0, endMs) - Math.max(work[at]?.startMs ?? 0, startMs);
    }
  }
  return { ms: lengthMs(spans), gpuIdleMs: Math.max(0, gpuIdleMs) };
}
