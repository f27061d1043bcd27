/**
 * Takes the pictures of the terminal in the documents: docs/pictures/*.svg, from what bench prints today on recorded
 * H200 runs.
 *
 *     node scripts/terminal-picture.ts      after `npm run build`; UPDATE_DOCS=1 npm test -- test/docs does the same
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SCENES } from './terminal-picture/scenes.ts';
import { takePicture } from './terminal-picture/take.ts';

for (const scene of SCENES) {
  const picture = takePicture(scene);
  const path = join('docs', 'pictures', `${scene.name}.svg`);
  writeFileSync(join(import.meta.dirname, '..', path), picture);
  process.stdout.write(`${path}: ${picture.length} characters\n`);
}
