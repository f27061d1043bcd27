import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../support/bench.ts';
import { kept, unpack } from './kept.ts';
import { FILES, HISTORY, RECORDED } from './scenes.ts';

/** Files that lie packed in the project: what stands for each on a command line. */
const PACKED = { HISTORIES: 'synthetic-dev', AB: 'ab-dev' };

/** Of the lines of such a file: all of them take seconds. */
const EVERY = 6;

describe.each([
  { place: 'recorded', scenes: RECORDED },
  { place: 'history', scenes: HISTORY },
  { place: 'files', scenes: FILES },
])('$place', ({ place, scenes }) => {
  let folder = '';
  beforeAll(async () => {
    folder = sharedFolder();
    if (place !== 'files') {
      unpack(place, join(folder, 'kept'));
      // Brought up to date once, which is said on standard error.
      await bench(['ls', 'sweeps'], { cwd: join(folder, 'kept') });
      return;
    }
    for (const [name, file] of Object.entries(PACKED)) {
      const packed = join(ROOT, 'test', 'fixtures', 'detection', `${file}.jsonl.br`);
      const lines = brotliDecompressSync(readFileSync(packed)).toString('utf8').split('\n');
      const some = lines.filter((_, number) => number % EVERY === 0);
      writeFileSync(join(folder, name), `${some.join('\n')}\n`);
    }
  });

  test.concurrent.each(Object.entries(scenes))('%s', async (name, args) => {
    const cwd = place === 'files' ? ROOT : join(folder, name);
    if (place !== 'files') cpSync(join(folder, 'kept'), cwd, { recursive: true, preserveTimestamps: true });
    const words = args.map((word) => (word in PACKED ? join(folder, word) : word));
    const { code, stdout, stderr } = await bench(words, { cwd });
    const said = `exit code ${code}\n${stderr}${args.includes('--html') ? dataIn(stdout) : stdout}`;
    const text = withoutRefs(said).replaceAll(cwd, '~').replaceAll(folder, '~').replaceAll(ROOT, '~');
    expect(text).toBe(kept(`${place}/${name}.txt`, text));
  });
});

/** References of builds depend on where the project lies: `ids.test.ts` pins them. Here they are numbered. */
function withoutRefs(text: string): string {
  const found = [...text.matchAll(/"(?:build|variant)Ref": "([0-9a-f]{32})"/g)];
  const refs = new Set(found.map(([, ref = '']) => ref));
  let rest = text;
  for (const [index, ref] of [...refs].entries()) {
    rest = rest.replaceAll(ref, `ref ${index}`).replaceAll(ref.slice(0, 8), `ref ${index}`);
  }
  return rest;
}

/** What the script of a page reads, on lines of its own. */
function dataIn(html: string): string {
  const [, json = ''] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? [];
  return JSON.stringify(JSON.parse(json), null, 1);
}
