/**
 * Writes the pages of docs/reference that the code's own strings make.
 *
 *     node scripts/reference.ts      UPDATE_DOCS=1 npm test -- test/docs does the same
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { referencePages } from './reference/pages.ts';

for (const [name, text] of Object.entries(referencePages())) {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'reference', name), text);
  process.stdout.write(`${name}: ${text.split(/\s+/).length} words\n`);
}
