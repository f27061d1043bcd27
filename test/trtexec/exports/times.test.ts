import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { TimesReader } from '../../../src/trtexec/exports/times.ts';
import { readFixture } from '../../support/recordings.ts';
import { parseTimes } from '../../support/whole-files.ts';

const ROW_KEYS = ['startEnqMs', 'endEnqMs', 'h2dMs', 'computeMs', 'd2hMs', 'latencyMs'];

function file(rows: readonly (readonly string[])[], keys = ROW_KEYS): Buffer {
  const lines = rows.map((row) => `{ ${row.map((value, i) => `"${keys[i]}" : ${value}`).join(', ')} }`);
  return Buffer.from(`[\n  ${lines.join('\n, ')}\n]\n`);
}

describe('a recorded file', () => {
  const bytes = readFixture('formats/enqueue-bound/times.json.br');
  const rows: readonly Record<string, number>[] = JSON.parse(bytes.toString());

  test('gives the same doubles as JSON.parse, every one', () => {
    const { count, columns } = parseTimes(bytes);
    expect(count).toBe(rows.length);
    for (const [name, values] of Object.entries(columns)) {
      expect([...values]).toEqual(rows.map((row) => row[name]));
    }
    expect(Object.keys(columns)).toHaveLength(12);
  });

  test.each([1, 13, 4096])('in chunks of %i bytes too', (size) => {
    const short = bytes.subarray(0, bytes.indexOf('\n, {', 4000));
    const whole = Buffer.concat([short, Buffer.from('\n]\n')]);
    const reader = new TimesReader();
    for (let at = 0; at < whole.length; at += size) reader.push(whole.subarray(at, at + size));
    expect(reader.end()).toEqual(parseTimes(whole));
  });

  test('is refused when it is cut anywhere', () => {
    for (const length of [0, 1, 5, 300, bytes.length - 3]) {
      expect(() => parseTimes(bytes.subarray(0, length))).toThrow('not closed');
    }
  });
});

test.each(['-nan', 'inf', '1e999', '-1e999'])('%s is no time: the file is refused', (value) => {
  expect(() => parseTimes(file([['0', '1', value, '0.5', '1', '1']]))).toThrow('row 1: "h2dMs" is no finite number');
});

test('TensorRT 7.0 names its columns In and Out', () => {
  const keys = ['startInMs', 'endInMs', 'inMs', 'computeMs', 'outMs', 'latencyMs', 'endToEndMs'];
  const { columns } = parseTimes(file([['1', '2', '1', '5', '3', '9', '10']], keys));
  expect(Object.fromEntries(Object.entries(columns).map(([name, [value]]) => [name, value]))).toEqual({
    startH2dMs: 1,
    endH2dMs: 2,
    h2dMs: 1,
    computeMs: 5,
    d2hMs: 3,
    latencyMs: 9,
  });
});

test('7.1 and 7.2 wrote enqueue and input stamps under swapped labels', () => {
  const keys = ['startEnqMs', 'endEnqMs', 'startInMs', 'endInMs', 'computeMs'];
  const { columns } = parseTimes(file([['1', '2', '3', '4', '5']], keys));
  expect([columns.startH2dMs?.[0], columns.startEnqMs?.[0]]).toEqual([1, 3]);
});

test('any numbers that trtexec can print come back exactly', () => {
  const number = fc.double({ min: 1e-6, max: 1e7, noNaN: true }).map((value) => String(Number(value.toPrecision(6))));
  fc.assert(
    fc.property(fc.array(fc.array(number, { minLength: 6, maxLength: 6 }), { minLength: 1 }), (rows) => {
      const { columns } = parseTimes(file(rows));
      expect([...(columns.computeMs ?? [])]).toEqual(rows.map((row) => Number(row[3])));
    }),
  );
});
