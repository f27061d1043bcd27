import { programsOnPath } from '../../benchmarks/processes.ts';

/** A program on PATH; null where it is not installed. */
export function onPath(name: string): string | null {
  return programsOnPath(name)[0] ?? null;
}
