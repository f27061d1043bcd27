import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { matrixReference } from '../../scripts/matrix-reference/reference.ts';
import { matrixJsonSchema } from '../../src/matrix/schema/schema.ts';
import { ROOT } from '../support/bench.ts';

const PATH = join(ROOT, 'docs', 'reference', 'matrix-keys.md');

describe('docs/reference/matrix-keys.md', () => {
  test('is what the schema says today (node scripts/matrix-reference.ts)', () => {
    const text = matrixReference(matrixJsonSchema());
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(PATH, text);
    expect(readFileSync(PATH, 'utf8')).toBe(text);
  });

  test('each link leads to a heading of the page', () => {
    const text = readFileSync(PATH, 'utf8');
    const anchors = [...text.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll('.', '').replaceAll(' ', '-'),
    );
    const links = [...text.matchAll(/\]\(#([^)]*)\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });
});

test('names, values, bounds and defaults of a schema stand in its table', () => {
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
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual([
    '| `size` (needed) | whole number from 1 to 9 | How large | 3 |',
    '| `mode` | `a`, `b` | One \\| the other |  |',
    '| `flags` | map of names: text, number, `true`, `false` |  |  |',
    '| `part` | [part](#part) |  |  |',
    '| `x` | `true` or `false` |  |  |',
    '| `y` | `z` |  |  |',
  ]);
});
