import { lockOf } from '../domain/clock-lock.ts';
import type { Environment } from '../domain/environment.ts';

/** Results with another key are another history: of another GPU model, TensorRT major or locked clock. */
export function machineKey(environment: Environment | undefined): string {
  return JSON.stringify([
    environment?.gpuName ?? null,
    environment?.tensorrt?.split('.')[0] ?? null,
    lockOf(environment?.clockPolicy ?? null),
  ]);
}
