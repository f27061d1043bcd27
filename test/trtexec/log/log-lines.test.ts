import { expect, test } from 'vitest';

import { LogLineReader, type LogMessage } from '../../../src/trtexec/log/log-lines.ts';

function read(...chunks: readonly string[]): { messages: LogMessage[]; lines: number } {
  const messages: LogMessage[] = [];
  const reader = new LogLineReader('stdout', (message) => messages.push(message));
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  reader.end();
  return { messages, lines: reader.lineCount };
}

const P = '[11/21/2026-07:33:53]';

test('a prefix gives severity, time and whether the library spoke', () => {
  const { messages } = read(`${P} [I] [TRT] Loaded engine size: 14 MiB\n${P} [W] * Throughput\n`);
  expect(messages).toEqual([
    {
      stream: 'stdout',
      line: 1,
      severity: 'I',
      fromLibrary: true,
      text: 'Loaded engine size: 14 MiB',
      time: '11/21/2026-07:33:53',
    },
    { stream: 'stdout', line: 2, severity: 'W', fromLibrary: false, text: '* Throughput', time: '11/21/2026-07:33:53' },
  ]);
});

test('a message that another thread glued to a verbose line is found', () => {
  const { messages } = read(`${P} [V] [TRT] half of a line${P} [W] * Throughput may be\n`);
  expect(messages.map(({ severity, text }) => [severity, text])).toEqual([['W', '* Throughput may be']]);
});

test('CRLF, colours and a lost trailing space change nothing', () => {
  const { messages } = read(`\u001b[32m${P} [I] a b\u001b[0m\r\n${P} [I]\r\n`);
  expect(messages.map(({ severity, text }) => [severity, text])).toEqual([
    ['I', 'a b'],
    ['I', ''],
  ]);
});

test.each([1, 2, 7, 30, 64])('chunks of %i bytes give the same messages', (size) => {
  const text = `${P} [I] één ☃ line\n${P} [V] skipped\n&&&& PASSED x\nlast without newline`;
  const bytes = Buffer.from(text);
  const messages: LogMessage[] = [];
  const reader = new LogLineReader('stdout', (message) => messages.push(message));
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  reader.end();
  expect(messages).toEqual(read(text).messages);
  expect(messages.map((message) => message.text)).toEqual(['één ☃ line', '&&&& PASSED x', 'last without newline']);
});

test('an endless line is cut and the next one is whole', () => {
  const long = 'x'.repeat(3 << 20);
  const { messages } = read(long.slice(0, 1 << 20), long.slice(1 << 20), `\n${P} [I] next\n`);
  expect(messages[0]?.text.length).toBe(1 << 20);
  expect(messages[1]?.text).toBe('next');
});
