/**
 * Writes docs/reference/matrix-keys.md from the schema of the matrix file.
 *
 *     node scripts/matrix-reference.ts      UPDATE_DOCS=1 npm test -- test/docs does the same
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { matrixJsonSchema } from '../src/matrix/schema/schema.ts';
import { matrixReference } from './matrix-reference/reference.ts';

const path = join('docs', 'reference', 'matrix-keys.md');
const text = matrixReference(matrixJsonSchema());
writeFileSync(join(import.meta.dirname, '..', path), text);
process.stdout.write(`${path}: ${text.length} characters\n`);
