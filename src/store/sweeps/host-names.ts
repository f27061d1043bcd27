import { isNotNull } from 'drizzle-orm';

import type { StoreDatabase } from '../file/open.ts';
import { environments, sweeps } from '../schema.ts';

/** Every machine that something in the store was measured on. */
export function hostNames(db: StoreDatabase): string[] {
  const rows = [
    ...db.selectDistinct({ host: environments.host }).from(environments).where(isNotNull(environments.host)).all(),
    ...db.selectDistinct({ host: sweeps.host }).from(sweeps).where(isNotNull(sweeps.host)).all(),
  ];
  return [...new Set(rows.flatMap(({ host }) => host ?? []))];
}
