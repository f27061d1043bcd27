import { programsOnPath } from '../../benchmarks/processes.ts';

/** A program on PATH; null where it is not installed. */
export const onPath = (name: string): string | null => programsOnPath(name)[0] ?? null;
