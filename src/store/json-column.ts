import { customType } from 'drizzle-orm/sqlite-core';
import type * as z from 'zod';

import { StoreError } from '../errors.ts';
import { printable } from '../text/printable.ts';

/**
 * A text that holds JSON of one schema. What SQLite holds comes from outside, too: it is checked where it is read.
 * @param what for the message about damage: `shapes of a cell`
 */
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
