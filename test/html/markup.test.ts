import { describe, expect, test } from 'vitest';

import { markup, scriptJson, shortened } from '../../src/html/markup.ts';

describe('what is put into the page', () => {
  test('texts are escaped, in elements and in quoted attributes', () => {
    const evil = `<script>alert("1")</script> & 'x'`;
    expect(markup`<b title="${evil}">${evil}</b>`.text).toBe(
      '<b title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;</b>',
    );
  });

  test('markup, numbers and lists stay what they are; null is nothing', () => {
    const items = ['a<', 'b'].map((text) => markup`<li>${text}</li>`);
    expect(markup`<ul>${items}</ul>${null}${4.5}`.text).toBe('<ul><li>a&lt;</li><li>b</li></ul>4.5');
  });

  test('marks that turn the direction of text are visible', () => {
    expect(markup`${'abc\u202edef\u0007'}`.text).toBe('abc\\u202edef\\u0007');
  });

  test('JSON in a script element cannot end it, and is the same JSON', () => {
    const value = { 'a</script>': ['<!--', "'"] };
    const { text } = scriptJson(value);
    expect(text).not.toMatch(/[<\u2028\u2029]/);
    expect(JSON.parse(text)).toEqual(value);
    expect(scriptJson('\u2028\u202e').text).toBe(String.raw`"\\u2028\\u202e"`);
  });

  test('a name of 10,000 characters becomes one of 120', () => {
    expect(shortened('x'.repeat(10_000))).toBe(`${'x'.repeat(119)}…`);
    expect(shortened('short')).toBe('short');
  });
});
