import Database from 'better-sqlite3';

/**
 * The tables that bench reads, with the columns that it needs, as `.schema` prints them for an export of Nsight Systems
 * 2024.6.2 (EXPORT_SCHEMA_VERSION 3.16.1).
 */
const SCHEMA = `
  PRAGMA synchronous = OFF;
  CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
  INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2024.6.2.225'), ('EXPORT_SCHEMA_VERSION', '3.16.1');
  CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
  INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),
    (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host');
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
    (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, shortName INTEGER NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
    (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER NOT NULL);
  CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, text TEXT, textId INTEGER);`;

/** What a trtexec that was captured did: some queries of an engine, one after the other. All times are made up. */
export interface Capture {
  /** Microseconds of each kernel of a query, by its name. */
  readonly kernels: Readonly<Record<string, number>>;
  readonly queries: number;
  readonly firstNs?: bigint;
}

/** Microseconds from one launch to the next on the host, from a kernel to the next on the GPU, and between two queries. */
const [LAUNCH_US, GAP_US, PAUSE_US, COPY_US] = [5, 2, 40, 3];

/** Writes the export of such a capture. */
export function writeCapture(path: string, { kernels, queries, firstNs = 0n }: Capture): void {
  const db = new Database(path);
  db.exec(SCHEMA);
  const at = (us: number): bigint => firstNs + BigInt(us * 1000);
  const names: string[] = [];
  const idOf = (name: string): number => {
    if (names.includes(name)) return names.indexOf(name) + 1;
    db.prepare('INSERT INTO StringIds VALUES (?, ?)').run(names.push(name), name);
    return names.length;
  };
  let [hostUs, gpuUs] = [10, 100];
  const call = (name: string): void => {
    const add = db.prepare('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?)');
    add.run(at(hostUs), at(hostUs + LAUNCH_US), idOf(name));
    hostUs += LAUNCH_US;
  };
  const copy = (kind: number, bytes: number): void => {
    call('cudaMemcpyAsync_v3020');
    const add = db.prepare('INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, ?, ?)');
    add.run(at(gpuUs), at(gpuUs + COPY_US), bytes, kind);
    gpuUs += COPY_US + GAP_US;
  };
  copy(1, 4096);
  for (let query = 0; query < queries; query += 1) {
    gpuUs += PAUSE_US;
    for (const [name, us] of Object.entries(kernels)) {
      call('cudaLaunchKernel_v7000');
      const add = db.prepare('INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, ?)');
      add.run(at(gpuUs), at(gpuUs + us), idOf(name));
      gpuUs += us + GAP_US;
    }
  }
  copy(2, 1024);
  db.close();
}
