import { describe, expect, test } from 'vitest';

import { containerImage, libraryVersion, numaNodeOf } from '../../src/machine/host-facts.ts';

describe('the image of a container', () => {
  test.each([
    [{}, null, null],
    [{}, 'engine="podman-4.9"\nname="x"\nimage="docker.io/library/trt:24.10"\n', 'docker.io/library/trt:24.10'],
    [{ CONTAINER_IMAGE: 'nvcr.io/nvidia/tensorrt:24.10-py3' }, 'image="other"', 'nvcr.io/nvidia/tensorrt:24.10-py3'],
    [{ APPTAINER_CONTAINER: '/home/someone/trt.sif' }, null, 'trt.sif'],
  ])('%j, %j', (env, containerenv, image) => {
    expect(containerImage(env, containerenv)).toBe(image);
  });
});

test('a GPU that is nowhere is on no NUMA node', () => {
  expect(numaNodeOf('0000FFFF:FF:1F.7')).toBeNull();
  expect(numaNodeOf('../../etc/passwd')).toBeNull();
  expect(numaNodeOf(null)).toBeNull();
});

describe('the TensorRT library among the mappings of a process', () => {
  const line = (path: string): string => `7f00-7f01 r--p 00000000 08:01 1234      ${path}\n`;

  test.each([
    ['/usr/lib/x86_64-linux-gnu/libnvinfer.so.10.6.0', '10.6.0'],
    ['/usr/lib/libnvinfer.so.10.6.0 (deleted)', '10.6.0'],
    // A wheel has no more in its name.
    ['/venv/tensorrt_libs/libnvinfer.so.10', '10'],
    ['/usr/lib/libnvinfer_plugin.so.10.6.0', null],
    ['/data/libnvinfer.so.10.6.0.bak', null],
  ])('%s', (path, version) => {
    const maps = line('/usr/lib/libc.so.6') + line(path) + line('/usr/lib/libm.so.6');
    expect(libraryVersion(maps)).toBe(version);
  });
});
