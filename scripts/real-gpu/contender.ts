import { setTimeout as sleep } from 'node:timers/promises';

import { execa } from 'execa';

import type { Visit } from './visit.ts';

/** A second process that keeps the GPU busy until it is ended: trtexec itself, with an engine of the store. */
export interface Contender {
  /** When it has its engine loaded, some two seconds after its start. */
  readonly isBusy: Promise<void>;
  stop(): Promise<void>;
}

/** @param gpu which GPU, as CUDA_VISIBLE_DEVICES names it; null: the first */
export function startContender(visit: Visit, gpu: string | null = null): Contender {
  const [engine] = visit.engines();
  if (engine === undefined) throw new Error('no engine was built that a second process could load');
  const args = [
    `--loadEngine=${engine}`,
    '--shapes=input:32x3x224x224',
    '--duration=600',
    '--warmUp=0',
    '--infStreams=2',
  ];
  const child = execa(visit.place.trtexec, args, {
    reject: false,
    stdio: 'ignore',
    ...(gpu === null ? {} : { env: { CUDA_VISIBLE_DEVICES: gpu } }),
  });
  return {
    isBusy: sleep(2500),
    stop: async () => {
      child.kill('SIGKILL');
      await child;
    },
  };
}
