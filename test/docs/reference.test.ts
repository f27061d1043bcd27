import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { matrixReference } from '../../scripts/reference/matrix-keys.ts';
import { referencePages } from '../../scripts/reference/pages.ts';
import { ROOT } from '../support/bench.ts';

describe.each(Object.entries(referencePages()))('docs/reference/%s', (name, text) => {
  test('is what the code says today (node scripts/reference.ts)', () => {
    const path = join(ROOT, 'docs', 'reference', name);
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, text);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('each link leads to a heading of the page', () => {
    const anchors = [...text.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll('.', '').replaceAll(' ', '-'),
    );
    const links = [...text.matchAll(/\]\(#([^)]*)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });
});

test('the generated pages have at most 12,000 words', () => {
  const words = Object.values(referencePages()).map((text) => text.trim().split(/\s+/).length);
  expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(12_000);
});

test('each command and each of its options is in commands.md', () => {
  const page = referencePages()['commands.md'] ?? '';
  expect(page).toMatch(
    /\n### bench db merge <others\.\.\.>\n\nmerge other stores into this one\. Repeat it to add .*\.\n\n- `--no-artefacts`: /,
  );
  expect(page).toContain('\n- `--min-change <percent>`: report no smaller changes, such as 2%');
  expect(page).toContain('\n- `130`: interrupted. ');
});

test('names, values, bounds and defaults of a schema are in its list', () => {
  const text = matrixReference({
    type: 'object',
    required: ['size'],
    properties: {
      size: { type: 'integer', minimum: 1, maximum: 9, description: 'How large. Default: 3' },
      mode: { type: 'string', enum: ['a', 'b'], description: 'One | the other' },
      flags: { type: 'object', additionalProperties: { anyOf: [{ type: ['string', 'number', 'boolean'] }] } },
      part: { type: 'object', additionalProperties: false, properties: { x: { type: 'boolean' }, y: { const: 'z' } } },
    },
  });
  expect(text.split('\n').filter((line) => line.startsWith('- `'))).toEqual([
    '- `size`: whole number from 1 to 9 (needed; default: 3). How large',
    '- `mode`: `a`, `b`. One | the other',
    '- `flags`: map of names: text, number, `true`, `false`',
    '- `part`: [part](#part)',
    '- `x`: `true` or `false`',
    '- `y`: `z`',
  ]);
});
