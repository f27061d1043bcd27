import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { firstVisibleGpu, parseGpuCsv, queryGpus } from '../../src/run/gpu-query.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

/** A folder with an nvidia-smi that does what a shell line says. */
function fakeNvidiaSmi(line: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'nvidia-smi'), `#!/bin/sh\n${line}\n`);
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  return folder;
}

describe('what nvidia-smi says', () => {
  test.each([
    [
      'NVIDIA H200, GPU-1234, 580.159.04, 143771\nNVIDIA H200, GPU-5678, 580.159.04, 143771\n',
      [
        { gpuName: 'NVIDIA H200', gpuUuid: 'GPU-1234', driver: '580.159.04', gpuMemoryMib: 143771 },
        { gpuName: 'NVIDIA H200', gpuUuid: 'GPU-5678', driver: '580.159.04', gpuMemoryMib: 143771 },
      ],
    ],
    [
      'Orin (nvgpu), [N/A], 540.4.0, [Not Supported]\n',
      [{ gpuName: 'Orin (nvgpu)', gpuUuid: null, driver: '540.4.0', gpuMemoryMib: null }],
    ],
    ['\n', []],
  ])('%j', (text, expected) => {
    expect(parseGpuCsv(text)).toEqual(expected);
  });

  test('a failure is a note, not an error', async () => {
    expect(await queryGpus({ PATH: '/nowhere' })).toEqual({
      kind: 'none',
      note: expect.stringContaining('it is not installed'),
    });
    expect(await queryGpus({ PATH: fakeNvidiaSmi('exit 9') })).toEqual({
      kind: 'none',
      note: expect.stringContaining('it failed'),
    });
  });
});

describe('a sweep', () => {
  async function environmentOf(nvidiaSmi: string) {
    const folder = temporaryFolder();
    const db = join(folder, 'bench.sqlite');
    const path = `${nvidiaSmi}:${process.env['PATH'] ?? ''}`;
    const matrix = stubMatrix(folder, ['repeats: 1']);
    const { code, stderr } = await bench(['run', matrix, '--trtexec', STUB, '--db', db], {
      env: { PATH: path },
    });
    expect(code).toBe(0);
    const rows = queryStore(db, 'SELECT DISTINCT gpu_name, gpu_uuid, driver FROM environments');
    return { rows, stderr };
  }

  test('without an nvidia-smi that works ends well, with one note and unknown fields', async () => {
    const { rows, stderr } = await environmentOf(
      fakeNvidiaSmi('echo "NVIDIA-SMI has failed"; exit 9'),
    );
    expect(stderr.match(/nvidia-smi/g)).toHaveLength(1);
    // The name is what trtexec itself says.
    expect(rows).toEqual([{ gpu_name: 'Stub GPU', gpu_uuid: null, driver: null }]);
  });

  test('with one that works keeps what it says', async () => {
    const line = `echo 'NVIDIA H200, GPU-1234, 580.159.04, 143771'`;
    const { rows, stderr } = await environmentOf(fakeNvidiaSmi(line));
    expect(stderr).not.toContain('nvidia-smi');
    // The name is trtexec's own: it knows on which GPU it ran.
    expect(rows).toEqual([{ gpu_name: 'Stub GPU', gpu_uuid: 'GPU-1234', driver: '580.159.04' }]);
  });
});

describe('the GPU that a process sees first', () => {
  const [a, b] = parseGpuCsv('NVIDIA A, GPU-aaa, 580.1, 1000\nNVIDIA B, GPU-bbb, 580.1, 2000\n');
  const gpus = [a, b].flatMap((gpu) => gpu ?? []);

  test.each([
    [{ CUDA_VISIBLE_DEVICES: 'GPU-bbb' }, 'GPU-bbb'],
    [{ CUDA_VISIBLE_DEVICES: '1', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }, 'GPU-bbb'],
    // CUDA counts the fastest first: of two kinds nobody knows which that is.
    [{ CUDA_VISIBLE_DEVICES: '1' }, null],
    [{}, null],
    [{ CUDA_VISIBLE_DEVICES: 'MIG-1' }, undefined],
  ])('%j', (env, uuid) => {
    expect(firstVisibleGpu(gpus, env)?.gpuUuid).toBe(uuid);
  });

  test('of one kind by their number', () => {
    const same = gpus.map((gpu) => ({ ...gpu, gpuName: 'NVIDIA H200' }));
    expect(firstVisibleGpu(same, { CUDA_VISIBLE_DEVICES: '1,0' })?.gpuUuid).toBe('GPU-bbb');
    expect(firstVisibleGpu([], {})).toBeNull();
  });
});
