import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { readNsysExport } from '../../../src/tools/nsys/read-export.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { change } from '../../support/store-dump.ts';
import { type Capture, writeCapture } from '../../support/nsys-export.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';

const KERNELS = { sm90_xmma_fprop: 40, splitKreduce: 8, permutationKernel: 5, sm90_gemm: 25 };

function exported(capture: Partial<Capture> = {}): string {
  const path = join(temporaryFolder(), 'capture.sqlite');
  writeCapture(path, { kernels: KERNELS, queries: 3, ...capture });
  return path;
}

describe('what a capture holds', () => {
  test('kernels by their names, the longest first; work and span of the GPU', () => {
    const { busyMs, exportSchema, kernels, nsysVersion, spanMs } = readNsysExport(exported());
    expect(kernels).toEqual([
      { name: 'sm90_xmma_fprop', count: 3, ms: 0.12, maxMs: 0.04 },
      { name: 'sm90_gemm', count: 3, ms: 0.075, maxMs: 0.025 },
      { name: 'splitKreduce', count: 3, ms: 0.024, maxMs: 0.008 },
      { name: 'permutationKernel', count: 3, ms: 0.015, maxMs: 0.005 },
    ]);
    // 78 us of kernels in each of three queries, and two copies of 3.
    expect(busyMs).toBeCloseTo(0.24, 10);
    // 2 us between kernels, three pauses of 40 and the 2 us behind a kernel, or a copy.
    expect(spanMs).toBeCloseTo(0.24 + 0.018 + 0.126 + 0.002, 10);
    expect([nsysVersion, exportSchema]).toEqual(['2024.6.2.225', '3.16.1']);
  });

  test('copies by their kind, and calls by their name', () => {
    const { calls, copies } = readNsysExport(exported());
    expect(copies).toEqual([
      { kind: 'Host-to-Device', count: 1, bytes: 4096, ms: 0.003 },
      { kind: 'Device-to-Host', count: 1, bytes: 1024, ms: 0.003 },
    ]);
    expect(calls).toEqual([
      { name: 'cudaLaunchKernel', count: 12, ms: 0.06, maxMs: 0.005 },
      { name: 'cudaMemcpyAsync', count: 2, ms: 0.01, maxMs: 0.005 },
    ]);
  });

  test('a kernel has the ONNX nodes of the layers whose tactic is called as it is', async () => {
    const name = '_gemm_mha_v2_0xd95cfa64dfa848e0ce2afd6498e018fb';
    const layers = ['layers', join(FIXTURES, 'nights/1-profile/vit_base.fp16.b8')];
    const kernels = ['--kernels', exported({ kernels: { [`${name}_kernel`]: 9, other: 1 } })];
    const [attention, other] = (await jsonOf(OUTPUTS['layers-kernels'], [...layers, ...kernels])).kernels;
    const expected = ['blocks.0.attn/AV', 'blocks.0.attn/Softmax', 'blocks.0.attn/QK', 'blocks.0.attn/Scale'];
    expect([attention?.nodes.slice(0, 4), attention?.nodes.length, other?.nodes]).toEqual([expected, 48, []]);
  });
});

function changedBy(sql: string): string {
  const path = exported();
  change(path, sql);
  return path;
}

describe('what may be otherwise in a file', () => {
  test.each([
    ['CUPTI_ACTIVITY_KIND_KERNEL', 'no kernel was traced; capture with `-t cuda,nvtx`'],
    ['CUPTI_ACTIVITY_KIND_RUNTIME', 'no CUDA call was traced; capture with `-t cuda,nvtx`'],
    ['StringIds', 'it is not an SQLite export of Nsight Systems'],
  ])('without %s it says what brings it', (table, text) => {
    const path = changedBy(`DROP TABLE ${table}`);
    expect(() => readNsysExport(path)).toThrow(`${path} has no table ${table}: ${text}`);
  });

  test('what is no export is told apart', () => {
    const folder = temporaryFolder();
    const text = join(folder, 'a.sqlite');
    writeFileSync(text, 'this is no database, but a text that is long enough to be looked at'.repeat(9));
    expect(() => readNsysExport(text)).toThrow('is not an SQLite export of Nsight Systems');
    expect(() => readNsysExport(join(folder, 'b.sqlite'))).toThrow('file not found');
    expect(() => readNsysExport(text)).toThrow('nsys export --type sqlite');
  });
});
