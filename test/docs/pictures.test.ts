import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import { SCENES } from '../../scripts/pictures/scenes.ts';
import { takePicture } from '../../scripts/pictures/terminal.ts';
import { ROOT } from '../support/bench.ts';

test.each(SCENES)(
  'the picture $name in docs/pictures is what the terminal shows today (node scripts/pictures.ts)',
  (scene) => {
    const path = join(ROOT, 'docs', 'pictures', `${scene.name}.svg`);
    const picture = takePicture(scene);
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, picture);
    expect(readFileSync(path, 'utf8')).toBe(picture);
  },
);
