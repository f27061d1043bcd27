const NUMBERS = '1e999 -1e999 nan -inf null -0 99999999999999999999 0x10 1e-400';
const SIGNS = '" { } [ ] [[[[[[[[ }}}} , : < > <!-- ]]> &amp; *a &a';
const WORDS = '!!js/function %YAML --- __proto__ constructor ../../../victim /etc/passwd ../.. . %s%n';
/** What has broken readers before. */
const TOKENS = [
  ...`${NUMBERS} ${SIGNS} ${WORDS}`.split(' '),
  "'",
  '\\',
  '\\"',
  '\u0000',
  '\u001b[2J',
  '\u009b',
  '\r\n',
  '\n',
  '\t',
  '\ufeff',
  '\u202e',
  '<!DOCTYPE x>',
  '<<: *a',
  '- ',
  '? ',
  '$(touch victim)',
  '&&&& PASSED',
  '[ONNX Layer: ',
  '", "timeMs" : ',
  '=== Performance summary ===',
  'GPU Compute Time: min = ',
];

export interface Mutant {
  readonly bytes: Buffer;
  /** Nothing was done but to leave its end away. */
  readonly isCut: boolean;
}

/** A recorded file with one to four changes, or without its end. */
export function mutate(seeds: readonly Buffer[], random: () => number): Mutant {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = (): Buffer => seeds[below(seeds.length)] ?? Buffer.alloc(0);
  const source = pick();
  if (random() < 0.25) return { bytes: source.subarray(0, below(source.length)), isCut: true };
  let bytes = source;
  for (let left = 1 + below(4); left > 0; left -= 1) bytes = changed(bytes, pick(), below);
  return { bytes, isCut: false };
}

const MOST_REPEATS = 200;
const MOST_BYTES = 1 << 18;

function changed(bytes: Buffer, other: Buffer, below: (limit: number) => number): Buffer {
  const at = below(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + below(64));
  const [head, middle, tail] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (below(8)) {
    case 0: {
      const flipped = Buffer.from(middle);
      if (flipped.length > 0) flipped[0] = (flipped[0] ?? 0) ^ (1 << below(8));
      return Buffer.concat([head, flipped, tail]);
    }
    case 1:
      return Buffer.concat([head, tail]);
    case 2: {
      const copies = Array.from({ length: 1 + below(MOST_REPEATS) }, () => middle);
      return Buffer.concat([head, ...copies, tail]);
    }
    case 3:
    case 4:
      return Buffer.concat([head, Buffer.from(TOKENS[below(TOKENS.length)] ?? ''), tail]);
    case 5:
      return digitsChanged(bytes, at, below);
    case 6:
      return bytes.subarray(0, at);
    default: {
      const from = below(other.length + 1);
      return Buffer.concat([head, other.subarray(from, from + below(4096)), tail]).subarray(0, MOST_BYTES);
    }
  }
}

/** The next number becomes another one. */
function digitsChanged(bytes: Buffer, from: number, below: (limit: number) => number): Buffer {
  const at = bytes.subarray(from).findIndex((byte) => byte >= 0x30 && byte <= 0x39);
  if (at === -1) return bytes;
  const copy = Buffer.from(bytes);
  copy[from + at] = 0x30 + below(10);
  return copy;
}
