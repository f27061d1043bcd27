import Database from 'better-sqlite3';

/**
 * Writes small files in the schema of Nsight Systems' SQLite exports. The statements are those that `.schema` prints
 * for an export of 2024.6.2 (EXPORT_SCHEMA_VERSION 3.16.1); what tables and columns mean is from its documentation,
 * "SQLite Schema Reference". All times are made up.
 */
const TABLES = {
  CUPTI_ACTIVITY_KIND_KERNEL: `start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
    launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
    gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
    blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
    localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
    sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER`,
  CUPTI_ACTIVITY_KIND_MEMCPY: `start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
    globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER,
    dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,
    migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER`,
  CUPTI_ACTIVITY_KIND_MEMSET: `start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
    globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER`,
  CUPTI_ACTIVITY_KIND_RUNTIME: `start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
    callchainId INTEGER`,
  CUDA_GRAPH_NODE_EVENTS: `start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, nameId INTEGER NOT NULL, graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER`,
  NVTX_EVENTS: `start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
    color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,
    uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,
    floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT`,
} as const;

type TableName = keyof typeof TABLES;

const ENUMS = {
  ENUM_CUDA_MEMCPY_OPER: [
    [1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'],
    [2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'],
    [8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'],
  ],
  ENUM_NSYS_EVENT_TYPE: [
    [34, 'NvtxMark', 'NvtxMark'],
    [59, 'NvtxPushPopRange', 'NvtxPushPopRange'],
    [60, 'NvtxStartEndRange', 'NvtxStartEndRange'],
  ],
} as const;

const NEEDED: Readonly<Partial<Record<TableName, Readonly<Record<string, number>>>>> = {
  CUPTI_ACTIVITY_KIND_KERNEL: {
    deviceId: 0,
    contextId: 1,
    streamId: 7,
    registersPerThread: 128,
    gridX: 1,
    gridY: 1,
    gridZ: 1,
    blockX: 128,
    blockY: 1,
    blockZ: 1,
    staticSharedMemory: 0,
    dynamicSharedMemory: 0,
    localMemoryPerThread: 0,
    localMemoryTotal: 0,
    gridId: 1,
  },
  CUPTI_ACTIVITY_KIND_MEMCPY: { deviceId: 0, contextId: 1, streamId: 7 },
  CUPTI_ACTIVITY_KIND_MEMSET: { deviceId: 0, contextId: 1, streamId: 7, value: 0 },
  CUPTI_ACTIVITY_KIND_RUNTIME: { eventClass: 0, returnValue: 0 },
  CUDA_GRAPH_NODE_EVENTS: { eventClass: 0 },
};

type Value = string | number | bigint | null;

/** One export being written: a table is made with its first row, as Nsight Systems does. */
export class NsysExport {
  readonly client: Database.Database;
  private readonly strings = new Map<string, number>();
  private readonly made = new Set<string>();

  constructor(path: string, version = '2024.6.2.225', schema = '3.16.1') {
    this.client = new Database(path);
    this.client.pragma('synchronous = OFF');
    this.client.pragma('journal_mode = MEMORY');
    this.client.exec('BEGIN');
    this.client.exec(`
      CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
      CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
      INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '${version}'), ('EXPORT_SCHEMA_VERSION', '${schema}')`);
    for (const [name, rows] of Object.entries(ENUMS)) {
      this.client.exec(`CREATE TABLE ${name} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)`);
      for (const row of rows) {
        this.client.prepare(`INSERT INTO ${name} VALUES (?, ?, ?)`).run(...row);
      }
    }
  }

  text(value: string): number {
    const known = this.strings.get(value);
    if (known !== undefined) return known;
    const id = this.strings.size + 1;
    this.strings.set(value, id);
    this.client.prepare('INSERT INTO StringIds VALUES (?, ?)').run(id, value);
    return id;
  }

  add(table: TableName, row: Readonly<Record<string, Value>>): void {
    if (!this.made.has(table)) this.client.exec(`CREATE TABLE ${table} (${TABLES[table]})`);
    this.made.add(table);
    const whole = { ...NEEDED[table], ...row };
    const names = Object.keys(whole);
    this.client
      .prepare(
        `INSERT INTO ${table} (${names.map((name) => `"${name}"`).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      )
      .run(...Object.values(whole));
  }

  close(): void {
    this.client.exec('COMMIT');
    this.client.close();
  }
}

/** Ids of a thread have that of their process in front, as `globalTid` of the documentation. */
export const PROCESS = 4242n << 24n;
export const THREAD = PROCESS | 4242n;

export interface CapturedLayer {
  readonly name: string;
  /** Microseconds of each of its kernels, by their names. */
  readonly kernels: Readonly<Record<string, number>>;
}

/** What a trtexec that was captured did: some queries of an engine, one after the other. */
export interface Capture {
  readonly layers: readonly CapturedLayer[];
  readonly queries: number;
  /** A graph is captured by a first call that runs nothing, and is launched as one for each query. */
  readonly hasGraph?: boolean;
  /** The nodes of the graph were made before the capture began. */
  readonly isGraphOlder?: boolean;
  readonly firstNs?: bigint;
}

const US = 1000;
/** From one launch to the next on the host, from a kernel to the next on the GPU, and between two queries. */
const LAUNCH_US = 5;
const GAP_US = 2;
const PAUSE_US = 40;

/** Writes the export of such a capture. */
export function writeCapture(path: string, capture: Capture): void {
  const file = new NsysExport(path);
  const at = (us: number): bigint => (capture.firstNs ?? 0n) + BigInt(us * US);
  let [hostUs, gpuUs, correlation] = [10, 100, 1];
  const call = (name: string, us: number): number => {
    file.add('CUPTI_ACTIVITY_KIND_RUNTIME', {
      start: at(hostUs),
      end: at(hostUs + us),
      globalTid: THREAD,
      correlationId: correlation,
      nameId: file.text(name),
    });
    hostUs += us;
    correlation += 1;
    return correlation - 1;
  };
  const range = (name: string, work: () => void): void => {
    const start = at(hostUs);
    hostUs += 1;
    work();
    hostUs += 1;
    file.add('NVTX_EVENTS', { start, end: at(hostUs), eventType: 59, text: name, globalTid: THREAD, domainId: 1 });
  };
  const kernel = (name: string, us: number, own: Readonly<Record<string, Value>>): void => {
    file.add('CUPTI_ACTIVITY_KIND_KERNEL', {
      start: at(gpuUs),
      end: at(gpuUs + us),
      globalPid: PROCESS,
      demangledName: file.text(`void ${name}<float>(float*)`),
      shortName: file.text(name),
      ...own,
    });
    gpuUs += us + GAP_US;
  };
  const nodes: { readonly id: number; readonly name: string; readonly us: number }[] = [];
  const copy = (kind: number, bytes: number): void => {
    const correlationId = call('cudaMemcpyAsync_v3020', LAUNCH_US);
    file.add('CUPTI_ACTIVITY_KIND_MEMCPY', {
      start: at(gpuUs),
      end: at(gpuUs + 3),
      correlationId,
      globalPid: PROCESS,
      bytes,
      copyKind: kind,
    });
    gpuUs += 3 + GAP_US;
  };
  copy(1, 4096);
  const enqueue = (ofKernel: (name: string, us: number) => void): void =>
    range('ExecutionContext::enqueue', () => {
      for (const layer of capture.layers) {
        range(layer.name, () => {
          for (const [name, us] of Object.entries(layer.kernels)) ofKernel(name, us);
        });
      }
    });
  if (capture.hasGraph === true) {
    enqueue((name, us) => {
      const id = nodes.length + 1;
      nodes.push({ id: 100 + id, name, us });
      if (capture.isGraphOlder !== true) {
        const made = { globalTid: THREAD, nameId: file.text('Graph Node Creation') };
        const now = { start: at(hostUs), end: at(hostUs) };
        file.add('CUDA_GRAPH_NODE_EVENTS', { ...now, ...made, graphNodeId: id });
        const later = { start: at(hostUs + 500), end: at(hostUs + 500) };
        file.add('CUDA_GRAPH_NODE_EVENTS', { ...later, ...made, graphNodeId: 100 + id, originalGraphNodeId: id });
      }
      call('cudaLaunchKernel_v7000', LAUNCH_US);
    });
  }
  for (let query = 0; query < capture.queries; query += 1) {
    gpuUs += PAUSE_US;
    if (capture.hasGraph === true) {
      const correlationId = call('cudaGraphLaunch_v10000', 3 * LAUNCH_US);
      for (const { id, name, us } of nodes) kernel(name, us, { correlationId, graphNodeId: id });
    } else {
      enqueue((name, us) => kernel(name, us, { correlationId: call('cudaLaunchKernel_v7000', LAUNCH_US) }));
    }
  }
  copy(2, 1024);
  file.close();
}
