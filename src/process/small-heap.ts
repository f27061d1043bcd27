import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect the heap when it exceeds the used part by half, and keeps the young generation small. Otherwise a
 * loop over many files uses several times the memory that it needs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=50');
}
