import { ExportFile, type ExportTable } from './export-file.ts';

/** Content of an Nsight Systems export, in nanoseconds since the first event of the capture. */
export interface NsysTrace {
  /** Versions of Nsight Systems and of its schema; null if not stated. */
  readonly product: string | null;
  readonly schema: string | null;
  /** Sorted by start. */
  readonly kernels: readonly TracedKernel[];
  readonly calls: readonly TracedCall[];
  readonly ranges: readonly TracedRange[];
  /** Of any thread, sorted by start. */
  readonly pauses: readonly TracedPause[];
  readonly graphNodes: readonly TracedGraphNode[];
  readonly copies: readonly TracedCopy[];
}

export interface TracedSpan {
  readonly startNs: number;
  readonly endNs: number;
}

/** A thread, and a process, are distinguished by what represents them in the export: text, as they have 64 bits. */
export interface TracedKernel extends TracedSpan {
  readonly device: number;
  readonly name: string;
  readonly process: string;
  /** Identifies the launching call within its process; null if unknown. */
  readonly correlation: number | null;
  /** Null for a kernel launched by itself. */
  readonly graphNode: string | null;
}

export interface TracedCall extends TracedSpan {
  readonly name: string;
  readonly thread: string;
  readonly process: string;
  readonly correlation: number | null;
}

/** An NVTX push/pop range: TensorRT opens one for each layer. Ranges of one thread nest. */
export interface TracedRange extends TracedSpan {
  readonly name: string;
  readonly thread: string;
}

/** When Python held a thread up. */
export interface TracedPause extends TracedSpan {
  readonly reason: 'garbageCollection' | 'interpreterLock';
}

/** Creation of a CUDA graph node, during capture or instantiation. */
export interface TracedGraphNode {
  readonly startNs: number;
  readonly thread: string;
  readonly process: string;
  readonly node: string;
  /** The node it was cloned from; null if it is not a clone. */
  readonly original: string | null;
}

/** A copy or memset. */
export interface TracedCopy extends TracedSpan {
  readonly device: number;
  readonly kind: string;
  readonly bytes: number;
}

// Tables and columns: "SQLite Schema Reference" of Nsight Systems' documentation (exported_data.html of 2021.5), and
// `.schema` of an export of 2024.6.2 (EXPORT_SCHEMA_VERSION 3.16.1). Times are nanoseconds. Empty tables do not exist;
// kernels, copies and nodes are joined to calls by `correlationId`, within a process.
const KERNELS: ExportTable = {
  name: 'CUPTI_ACTIVITY_KIND_KERNEL',
  columns: ['start', 'end', 'deviceId', 'correlationId', 'shortName'],
  wanted:
    'no kernel was traced; capture with `-t cuda,nvtx`, and with `--cuda-graph-trace=node` when CUDA graphs are on',
};
const CALLS: ExportTable = {
  name: 'CUPTI_ACTIVITY_KIND_RUNTIME',
  columns: ['start', 'end', 'globalTid', 'correlationId', 'nameId'],
  wanted: 'no CUDA call was traced; capture with `-t cuda,nvtx`',
};
const RANGES: ExportTable = {
  name: 'NVTX_EVENTS',
  columns: ['start', 'end', 'eventType', 'text', 'globalTid'],
  wanted:
    'no layer is named; capture with `-t cuda,nvtx`, from an engine that was built with --profilingVerbosity=detailed',
};
const STRINGS: ExportTable = {
  name: 'StringIds',
  columns: ['id', 'value'],
  wanted: 'it is no SQLite export of Nsight Systems; `nsys export --type sqlite` makes one',
};
const COPIES = 'CUPTI_ACTIVITY_KIND_MEMCPY';
const SETS = 'CUPTI_ACTIVITY_KIND_MEMSET';
const NODES = 'CUDA_GRAPH_NODE_EVENTS';
const COPY_KINDS = 'ENUM_CUDA_MEMCPY_OPER';
const ABOUT = 'META_DATA_EXPORT';

/** `NvtxPushPopRange` of ENUM_NSYS_EVENT_TYPE; the other is a start/end range, which belongs to no thread. */
const PUSH_POP = 59;
const START_END = 60;

/**
 * Python's own ranges: TensorRT-LLM opens "Python GC" with TLLM_PROFILE_RECORD_GC (py_executor.py), `-t python-gil` the
 * others. They nest with those of layers, and are none.
 */
const PYTHON_RANGES: ReadonlyMap<string, TracedPause['reason'] | null> = new Map([
  ['Python GC', 'garbageCollection'],
  ['Waiting for GIL', 'interpreterLock'],
  ['Holding GIL', null],
]);

/** A thread's id has its process's id above its own 24 bits. */
const PROCESS = (column: string): string => `CAST(CAST(${column} AS INTEGER) >> 24 AS TEXT)`;

/** @throws UsageError if it is not an export, or lacks a required table */
export function readNsysExport(path: string): NsysTrace {
  const file = new ExportFile(path);
  try {
    for (const table of [STRINGS, KERNELS, CALLS, RANGES]) file.require(table);
    const first = file.firstNs([KERNELS.name, CALLS.name, RANGES.name, COPIES, SETS, NODES]);
    const ranges = rangesIn(file, first);
    return {
      product: about(file, 'EXPORT_PRODUCT_VERSION'),
      schema: about(file, 'EXPORT_SCHEMA_VERSION'),
      kernels: kernelsIn(file, first),
      calls: callsIn(file, first),
      ranges: ranges.filter(({ eventType, name }) => eventType === PUSH_POP && !PYTHON_RANGES.has(name)),
      pauses: ranges.flatMap(({ name, startNs, endNs }) => {
        const reason = PYTHON_RANGES.get(name) ?? null;
        return reason === null ? [] : { reason, startNs, endNs };
      }),
      graphNodes: file.has(NODES, 'graphNodeId') ? nodesIn(file, first) : [],
      copies: copiesIn(file, first),
    };
  } finally {
    file.close();
  }
}

function about(file: ExportFile, name: string): string | null {
  if (!file.has(ABOUT, 'value')) return null;
  const value = file.value(`SELECT value FROM ${ABOUT} WHERE name = '${name}'`);
  return typeof value === 'string' ? value : null;
}

const SPAN = 'CAST(e.start - @first AS INTEGER) AS startNs, CAST(e.end - @first AS INTEGER) AS endNs';

function named(column: string): string {
  return `coalesce((SELECT value FROM StringIds s WHERE s.id = ${column}), '') AS name`;
}

function kernelsIn(file: ExportFile, first: bigint): TracedKernel[] {
  const process = file.has(KERNELS.name, 'globalPid') ? PROCESS('e.globalPid') : 'NULL';
  const node = file.has(KERNELS.name, 'graphNodeId') ? 'CAST(e.graphNodeId AS TEXT)' : 'NULL';
  return file.rows<TracedKernel>(
    `SELECT ${SPAN}, CAST(e.deviceId AS INTEGER) AS device, ${named('e.shortName')},
            coalesce(${process}, '') AS process, CAST(e.correlationId AS INTEGER) AS correlation, ${node} AS graphNode
     FROM ${KERNELS.name} e ORDER BY e.start, e.end`,
    { first },
  );
}

function callsIn(file: ExportFile, first: bigint): TracedCall[] {
  // Kernels of older exports lack the process.
  const process = file.has(KERNELS.name, 'globalPid') ? PROCESS('e.globalTid') : "''";
  return file.rows<TracedCall>(
    `SELECT ${SPAN}, ${named('e.nameId')}, coalesce(CAST(e.globalTid AS TEXT), '') AS thread,
            coalesce(${process}, '') AS process, CAST(e.correlationId AS INTEGER) AS correlation
     FROM ${CALLS.name} e ORDER BY e.start`,
    { first },
  );
}

/** A range open at the end of the capture has no end. */
function rangesIn(file: ExportFile, first: bigint): (TracedRange & { readonly eventType: number })[] {
  const registered = file.has(RANGES.name, 'textId') ? '(SELECT value FROM StringIds s WHERE s.id = e.textId)' : 'NULL';
  return file
    .rows<Omit<TracedRange, 'endNs'> & { readonly endNs: number | null; readonly eventType: number }>(
      `SELECT ${SPAN}, coalesce(e.text, ${registered}, '') AS name, coalesce(CAST(e.globalTid AS TEXT), '') AS thread,
              CAST(e.eventType AS INTEGER) AS eventType
       FROM ${RANGES.name} e WHERE e.eventType IN (${PUSH_POP}, ${START_END}) ORDER BY e.start, e.end DESC`,
      { first },
    )
    .map((range) => ({ ...range, endNs: range.endNs ?? Infinity }));
}

function nodesIn(file: ExportFile, first: bigint): TracedGraphNode[] {
  const original = file.has(NODES, 'originalGraphNodeId') ? 'CAST(e.originalGraphNodeId AS TEXT)' : 'NULL';
  const process = file.has(KERNELS.name, 'globalPid') ? PROCESS('e.globalTid') : "''";
  return file.rows<TracedGraphNode>(
    `SELECT CAST(e.start - @first AS INTEGER) AS startNs, coalesce(CAST(e.globalTid AS TEXT), '') AS thread,
            coalesce(${process}, '') AS process, CAST(e.graphNodeId AS TEXT) AS node, ${original} AS original
     FROM ${NODES} e ORDER BY e.start`,
    { first },
  );
}

function copyColumns(kind: string): string {
  return `SELECT ${SPAN}, CAST(e.deviceId AS INTEGER) AS device, ${kind} AS kind, CAST(e.bytes AS INTEGER) AS bytes`;
}

function copiesIn(file: ExportFile, first: bigint): TracedCopy[] {
  const label = file.has(COPY_KINDS, 'label') ? `(SELECT label FROM ${COPY_KINDS} k WHERE k.id = e.copyKind)` : 'NULL';
  const copies = file.has(COPIES)
    ? file.rows<TracedCopy>(`${copyColumns(`coalesce(${label}, 'copy kind ' || e.copyKind)`)} FROM ${COPIES} e`, {
        first,
      })
    : [];
  const sets = file.has(SETS) ? file.rows<TracedCopy>(`${copyColumns(`'Memset'`)} FROM ${SETS} e`, { first }) : [];
  return [...copies, ...sets].toSorted((a, b) => a.startNs - b.startNs);
}
