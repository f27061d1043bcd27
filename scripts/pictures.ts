/**
 * Takes the pictures of docs/pictures: what bench prints (SVG), and its report in a real browser (PNG), of recorded H200
 * runs and of a simulated store.
 *
 *     node scripts/pictures.ts [NAME...]     after `npm run build`; the pages need Chromium: apt-get install chromium
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { CHROMIUM, NEEDS_CHROMIUM, startChromium } from '../test/support/browser.ts';
import { takeViews, VIEWS } from './pictures/pages.ts';
import { SCENES } from './pictures/scenes.ts';
import { takePicture } from './pictures/terminal.ts';

const names = process.argv.slice(2);

function asked<Picture extends { readonly name: string }>(pictures: readonly Picture[]): Picture[] {
  return pictures.filter(({ name }) => names.length === 0 || names.includes(name));
}

function write(name: string, content: string | Uint8Array): void {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'pictures', name), content);
  process.stdout.write(`docs/pictures/${name}: ${content.length} bytes\n`);
}

for (const scene of asked(SCENES)) write(`${scene.name}.svg`, takePicture(scene));
const views = asked(VIEWS);
if (views.length > 0 && CHROMIUM === null) {
  process.stderr.write(`${NEEDS_CHROMIUM}\n`);
  process.exitCode = 3;
} else if (views.length > 0) {
  const browser = await startChromium();
  await takeViews(browser, views, write);
  await browser.close();
}
