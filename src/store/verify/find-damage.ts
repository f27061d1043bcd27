import { StoreError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { OpenStore } from '../file/open.ts';
import { addChecksumFunction } from './row-checksums.ts';
import { verifyChecksums } from './verify-checksums.ts';
import { verifyBlobs } from './verify-rows.ts';
import { verifyValues } from './verify-values.ts';

/**
 * What stopped a command that read a store, when that is the store: something in it is not as bench wrote it.
 * @returns null when nothing is wrong with the store: then it is a defect of bench
 */
export async function damageBehind(
  error: unknown,
  { db, path }: OpenStore,
  signal: AbortSignal,
): Promise<StoreError | null> {
  const { $client: client } = db;
  addChecksumFunction(client);
  const looks = [
    () => verifyValues(client, path, signal),
    () => verifyChecksums({ client }, path, () => {}, signal),
    () => verifyBlobs({ client }, path, () => {}, signal),
  ];
  for (const look of looks) {
    const [damage] = await look();
    if (damage === undefined) continue;
    const { where, what } = damage;
    return new StoreError(`the store is damaged: ${printable(where)}: ${what}; \`bench db verify\` says more of it`, {
      cause: error,
    });
  }
  return null;
}
