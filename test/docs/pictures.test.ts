import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { XMLParser } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';

import { readAnsi } from '../../scripts/pictures/ansi.ts';
import { SCENES } from '../../scripts/pictures/scenes.ts';
import { drawPicture } from '../../scripts/pictures/svg.ts';
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

describe('text with colours', () => {
  const looks = (text: string) =>
    readAnsi(text).map((line) => line.map(({ text: piece, foreground, bold, dim }) => [piece, foreground, bold, dim]));

  test('colours, bold and dim begin and end where they say', () => {
    expect(looks('a \u001b[1;31mb\u001b[22m c\u001b[39m\n\u001b[2md\u001b[0me')).toEqual([
      [
        ['a ', null, false, false],
        ['b', 1, true, false],
        [' c', 1, false, false],
      ],
      [
        ['d', null, false, true],
        ['e', null, false, false],
      ],
    ]);
  });

  test('neighbours that look the same are one piece', () => {
    expect(looks('\u001b[36m─\u001b[39m\u001b[36m─\u001b[39m')).toEqual([[['──', 6, false, false]]]);
  });

  test('bright and background colours', () => {
    expect(readAnsi('\u001b[97;41mx')[0]?.[0]).toMatchObject({ foreground: 15, background: 1 });
  });

  test.each(['\u001b[38;5;208mx', '\u001b[2Jx', 'a\rb'])('%j is no picture', (text) => {
    expect(() => readAnsi(text)).toThrow('no picture of');
  });
});

test('a picture is well-formed, whatever the text, and each piece stands in its columns', () => {
  const lines = readAnsi('<b> & "x" \u001b[31m▲ slower\u001b[39m');
  const svg = drawPicture({ title: 'a < b', columns: 20, lines });
  const parsed: unknown = new XMLParser({
    ignoreAttributes: false,
    parseAttributeValue: true,
    trimValues: false,
  }).parse(svg);
  expect(parsed).toMatchObject({
    svg: {
      title: 'a < b',
      text: [
        { '#text': '<b> & "x" ', '@_x': 16, '@_textLength': 84 },
        { '#text': '▲', '@_x': 100, '@_textLength': 8.4, '@_style': 'fill:var(--c1)' },
        { '#text': ' slower', '@_x': 108.4, '@_textLength': 58.8, '@_style': 'fill:var(--c1)' },
      ],
    },
  });
});
