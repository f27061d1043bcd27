import { customType } from 'drizzle-orm/sqlite-core';
import type * as z from 'zod';

import { StoreError } from '../errors.ts';
import { printable } from '../text/printable.ts';

/** JSON of one schema, checked when read, as SQLite data is untrusted. `what` names it: `shapes of a cell`. */
export function json<Value>(name: string, schema: z.ZodType<Value>, what: string) {
  return customType<{ data: Value; driverData: string }>({
    dataType: () => 'text',
    toDriver: (value) => JSON.stringify(value),
    fromDriver: (text) => {
      try {
        return schema.parse(JSON.parse(text));
      } catch (cause) {
        const damage = `${printable(text)} are no ${what}; \`bench db verify\` says more of it`;
        throw new StoreError(`the store is damaged: ${damage}`, { cause });
      }
    },
  })(name);
}
