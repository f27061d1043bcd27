import { lockOf } from '../machine/clock-request.ts';
import type { Environment } from '../records/environment.ts';

/** Results with another key are another history: of another GPU model, TensorRT major or locked clock. */
export function machineKey(environment: Environment | undefined): string {
  return JSON.stringify([
    environment?.gpuName ?? null,
    environment?.tensorrt?.split('.')[0] ?? null,
    lockOf(environment?.clockPolicy ?? null),
  ]);
}
