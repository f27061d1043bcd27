import * as z from 'zod';

/** Whether a process is bound to the CPUs and the memory of one NUMA node: of its GPU's, or of the one named. */
export const numaSchema = z.union([z.enum(['auto', 'off']), z.number()]);

export type NumaWish = z.infer<typeof numaSchema>;

/** `auto`, `off`, or the number of a node; null for anything else. */
export function readNumaWish(text: string): NumaWish | null {
  if (text === 'auto' || text === 'off') return text;
  return /^\d{1,3}$/.test(text) ? Number(text) : null;
}
