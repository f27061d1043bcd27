import { type Cell, hashOf } from '../../records/cell.ts';

/**
 * The same for cells that people compare with each other: those that differ in nothing but precision, graph, transfers,
 * spin wait, streams and flags on an axis. They are measured on one GPU.
 */
export function comparedWith({ inputs, model, shapes }: Cell): string {
  return hashOf({ model, shapes, inputs });
}
