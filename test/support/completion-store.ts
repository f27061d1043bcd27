import { join } from 'node:path';

import { imageCell } from './image-cell.ts';
import { simulateNights } from './simulated-store.ts';

/** Names that would do something if a shell read them. */
export const HOSTILE_NAMES = [
  'a $(touch pwned)',
  'b`touch pwned`',
  'c; touch pwned',
  'd\'it is "so"',
  'e!! !$',
  'f > pwned',
  'g~ *?[x]{1,2}',
  'h\\back',
  'i&|#',
  'über straße',
] as const;

/** They are never offered: a line of its own, and what a terminal acts on. */
export const UNSHOWN_NAMES = ['y\ntouch pwned', 'z\u001b[31m'] as const;

/** A store with two nights of a cell of each of these models. */
export function completionStore(folder: string): void {
  const models = ['vit', ...HOSTILE_NAMES, ...UNSHOWN_NAMES];
  const cells = models.map((model) => imageCell({ model, precision: 'fp16', batch: 1 }));
  simulateNights(join(folder, 'bench.sqlite'), { cells, nights: 2, repeats: 1, value: () => 1, branch: 'main' });
}
