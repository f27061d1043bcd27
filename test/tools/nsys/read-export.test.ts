import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';

import { sumKernels } from '../../../src/layers/kernels/sum-kernels.ts';
import { readNsysExport } from '../../../src/tools/nsys/read-export.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { type Capture, NsysExport, THREAD, writeCapture } from '../../support/nsys-export.ts';

const LAYERS = [
  { name: 'conv1 + relu1', kernels: { sm90_xmma_fprop: 40, splitKreduce: 8 } },
  { name: 'Reformatting CopyNode for Input Tensor 0 to fc', kernels: { permutationKernel: 5 } },
  { name: '/head/fc/MatMul', kernels: { sm90_gemm: 25 } },
];

function exported(capture: Partial<Capture> = {}): string {
  const path = join(temporaryFolder(), 'capture.sqlite');
  writeCapture(path, { layers: LAYERS, queries: 3, ...capture });
  return path;
}

/** By another way than the reader: one join, in SQL alone. */
function sumsBySql(path: string): Record<string, number> {
  const client = new Database(path, { readonly: true });
  const rows = client
    .prepare<[], [string, number]>(
      `SELECT n.text, sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
       JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
         ON r.correlationId = k.correlationId AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000
       JOIN NVTX_EVENTS n ON n.globalTid = r.globalTid AND n.start <= r.start AND r.end <= n.end
       WHERE n.eventType = 59 AND n.text != 'ExecutionContext::enqueue' GROUP BY n.text`,
    )
    .raw()
    .all();
  client.close();
  return Object.fromEntries(rows.map(([name, ns]) => [name, ns / 1e6]));
}

function sumsOf(path: string): Record<string, number> {
  const { layers } = sumKernels(readNsysExport(path), null);
  return Object.fromEntries(layers.map(({ name, kernelMs }) => [name, kernelMs]));
}

describe('kernels by the layer that launched them', () => {
  test('their sums are those that one query in SQL gives', () => {
    const path = exported({ queries: 50 });
    expect(sumsOf(path)).toEqual(sumsBySql(path));
    expect(sumsOf(path)).toEqual({
      'conv1 + relu1': 2.4,
      'Reformatting CopyNode for Input Tensor 0 to fc': 0.25,
      '/head/fc/MatMul': 1.25,
    });
  });

  test('executions, launches and gaps of each layer', () => {
    const report = sumKernels(readNsysExport(exported()), null);
    expect(report.queries).toBe(3);
    expect(report.kernels).toBe(12);
    // 48 + 5 + 25 us of kernels, and 2 us in each of the three gaps.
    expect(report.queryMs).toBeCloseTo(0.084, 10);
    expect(report.layers[0]).toEqual({
      name: 'conv1 + relu1',
      executions: 3,
      kernels: 6,
      kernelMs: 0.144,
      launches: 6,
      gapMs: 0.006,
      kernelNames: ['sm90_xmma_fprop', 'splitKreduce'],
    });
    expect(report.layers.map(({ gapMs }) => gapMs)).toEqual([0.006, 0.006, 0.006]);
    // 40 us of pause and the 2 us behind each kernel, or copy.
    expect(report.gaps).toEqual({ withinQueriesMs: 0.018, betweenQueriesMs: 0.126, beforeCopiesMs: 0.002 });
    expect(report.busyMs).toBeCloseTo(0.24, 10);
    expect(report.spanMs).toBeCloseTo(0.24 + 0.018 + 0.126 + 0.002, 10);
    expect(report.unattributed).toEqual([]);
  });

  test("Python's pauses are no layers: counted once where threads wait together, with the GPU's idle time in them", async () => {
    const path = exported({ queries: 3 });
    const client = new Database(path);
    const at = (us: number): number => us * 1000;
    const add = client.prepare(
      `INSERT INTO NVTX_EVENTS (start, end, eventType, text, textId, globalTid) VALUES (?, ?, ?, ?, ?, ${THREAD})`,
    );
    client.exec(`INSERT INTO StringIds VALUES (9001, 'Holding GIL'), (9002, 'Waiting for GIL')`);
    add.run(at(0), at(10_000), 59, null, 9001);
    add.run(at(120), at(160), 59, null, 9002);
    add.run(at(140), at(180), 59, null, 9002);
    const [kernels] = client
      .prepare<[], { readonly first: number; readonly last: number }>(
        'SELECT min(start) AS first, max(end) AS last FROM CUPTI_ACTIVITY_KIND_KERNEL',
      )
      .all();
    if (kernels === undefined) throw new Error('no kernels');
    add.run(kernels.first, kernels.last, 60, 'Python GC', null);
    client.close();
    const report = sumKernels(readNsysExport(path), null);
    expect(report.layers).toHaveLength(LAYERS.length);
    const [collection, lock] = report.pauses;
    expect(collection).toMatchObject({ reason: 'garbageCollection', count: 1 });
    expect(lock).toMatchObject({ reason: 'interpreterLock', count: 2, ms: 0.06 });
    // From the first kernel on: gaps within the queries and the two pauses between them.
    expect(collection?.gpuIdleMs).toBeCloseTo(0.018 + 2 * 0.042, 10);
    const { stdout } = await bench(['layers', '--kernels', path]);
    expect(stdout).toMatch(
      /\nhost {5}garbage collection 1×, 0\.\d+ ms; the GPU had no work for 0\.102\d* ms of it\nhost {5}waiting for the interpreter's lock 2×, 0\.060\d* ms;/,
    );
  });

  test('copies by their kind, and calls by their name', () => {
    const { copies, calls, product, schema } = sumKernels(readNsysExport(exported()), null);
    expect(copies).toEqual([
      { kind: 'Host-to-Device', count: 1, bytes: 4096, ms: 0.003 },
      { kind: 'Device-to-Host', count: 1, bytes: 1024, ms: 0.003 },
    ]);
    expect(calls).toEqual([
      { name: 'cudaLaunchKernel', count: 12, ms: 0.06, maxMs: 0.005 },
      { name: 'cudaMemcpyAsync', count: 2, ms: 0.01, maxMs: 0.005 },
    ]);
    expect([product, schema]).toEqual(['2024.6.2.225', '3.16.1']);
  });

  test('a range inside a layer is no layer where the layers are known', () => {
    const path = join(temporaryFolder(), 'nested.sqlite');
    const file = new NsysExport(path);
    const own = { eventType: 59, globalTid: 7n << 24n };
    file.add('NVTX_EVENTS', { start: 0, end: 100, text: 'ExecutionContext::enqueue', ...own });
    file.add('NVTX_EVENTS', { start: 1, end: 90, textId: file.text('{ForeignNode[a...b]}'), ...own });
    file.add('NVTX_EVENTS', { start: 2, end: 80, text: 'myelinStep', ...own });
    const call = { globalTid: 7n << 24n, nameId: file.text('cuLaunchKernelEx') };
    file.add('CUPTI_ACTIVITY_KIND_RUNTIME', { start: 5, end: 6, correlationId: 1, ...call });
    const kernel = { globalPid: 7n << 24n, demangledName: 1, shortName: file.text('k') };
    file.add('CUPTI_ACTIVITY_KIND_KERNEL', { start: 9, end: 19, correlationId: 1, ...kernel });
    // The same number in another process is another call.
    const other = { ...kernel, globalPid: 8n << 24n };
    file.add('CUPTI_ACTIVITY_KIND_KERNEL', { start: 20, end: 50, correlationId: 1, ...other });
    file.close();
    const trace = readNsysExport(path);
    const known = sumKernels(trace, new Set(['{ForeignNode[a...b]}']));
    expect(known.layers.map(({ name }) => name)).toEqual(['{ForeignNode[a...b]}']);
    expect(sumKernels(trace, null).layers.map(({ name }) => name)).toEqual(['myelinStep']);
    expect(known.unattributed).toEqual([{ reason: 'noCall', kernels: 1, kernelMs: 30e-6 }]);
  });
});

describe('CUDA graphs', () => {
  test('kernels of a graph belong to the layer that was captured when their node was made', () => {
    const path = exported({ hasGraph: true });
    const report = sumKernels(readNsysExport(path), null);
    expect(sumsOf(path)).toEqual(sumsOf(exported()));
    expect(report.queries).toBe(3);
    expect(report.layers[0]).toMatchObject({ executions: 3, kernels: 6, launches: 0 });
    expect(report.unattributed).toEqual([]);
  });

  test('without the making of its nodes nothing says whose they are', () => {
    const report = sumKernels(readNsysExport(exported({ hasGraph: true, isGraphOlder: true })), null);
    expect(report.layers).toEqual([]);
    expect(report.unattributed).toEqual([{ reason: 'graphNode', kernels: 12, kernelMs: 0.234 }]);
  });
});

describe('what may be otherwise in a file', () => {
  test('times that count from 1970 lose no nanosecond', () => {
    const since1970 = exported({ firstNs: 1_790_000_000_123_456_789n });
    expect(sumsOf(since1970)).toEqual(sumsOf(exported()));
  });

  test.each([
    ['CUPTI_ACTIVITY_KIND_KERNEL', 'no kernel was traced; capture with `-t cuda,nvtx`'],
    ['CUPTI_ACTIVITY_KIND_RUNTIME', 'no CUDA call was traced; capture with `-t cuda,nvtx`'],
    ['NVTX_EVENTS', 'no layer is named; capture with `-t cuda,nvtx`'],
    ['StringIds', 'it is no SQLite export of Nsight Systems'],
  ])('without %s it says what brings it', (table, text) => {
    const path = exported();
    const client = new Database(path);
    client.exec(`DROP TABLE ${table}`);
    client.close();
    expect(() => readNsysExport(path)).toThrow(`${path} has no table ${table}: ${text}`);
  });

  test('a table without a column that is needed is named with it', () => {
    const path = exported();
    const client = new Database(path);
    client.exec('ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN globalTid');
    client.close();
    expect(() => readNsysExport(path)).toThrow('its table CUPTI_ACTIVITY_KIND_RUNTIME has no column globalTid');
  });

  test('copies and sets may be missing: nothing was copied then', () => {
    const path = exported();
    const client = new Database(path);
    client.exec('DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE ENUM_CUDA_MEMCPY_OPER');
    client.close();
    expect(sumKernels(readNsysExport(path), null).copies).toEqual([]);
  });

  test('what is no export is told apart', () => {
    const folder = temporaryFolder();
    const text = join(folder, 'a.sqlite');
    writeFileSync(text, 'this is no database, but a text that is long enough to be looked at'.repeat(9));
    expect(() => readNsysExport(text)).toThrow('is no SQLite export of Nsight Systems');
    expect(() => readNsysExport(join(folder, 'b.sqlite'))).toThrow('no such file');
    expect(() => readNsysExport(join(folder, 'c.nsys-rep'))).toThrow('nsys export --type sqlite');
  });
});
