import stringWidth from 'string-width';
import { expect, test } from 'vitest';

import { textWidth, truncate } from '../../src/terminal/text-width.ts';

test('every character that is taken for narrow is one column wide', () => {
  for (let code = 0x20; code <= 0xffff; code += 1) {
    const character = String.fromCharCode(code);
    if (!character.isWellFormed() || code === 0x7f) continue;
    expect([code.toString(16), textWidth(character)]).toEqual([code.toString(16), stringWidth(character)]);
  }
});

test('wide and joined characters are never cut in two', () => {
  expect(truncate('模型测试', 5)).toBe('模型…');
  expect(truncate('👩‍💻👩‍💻', 3)).toBe('👩‍💻…');
  expect(truncate('abcdef', 4)).toBe('abc…');
  expect(truncate('a→b…c', 4)).toBe('a→b…');
  expect(truncate('abc', 3)).toBe('abc');
  expect(truncate('abc', 0)).toBe('');
});
