import { type Duplex, Readable, pipeline } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

import { UsageError } from '../errors.ts';
import { filteredThrough, isInstalled } from '../process/ask.ts';

/** Archives that Node cannot unpack: their first bytes, the program that can, and its package. */
const FOREIGN_ARCHIVES = [
  { program: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a], from: 'xz-utils' },
  { program: 'bzip2', magic: [0x42, 0x5a, 0x68], from: 'bzip2' },
] as const;

/** An archive, the file in it as somebody packed it, and its text in UTF-16. */
const MOST_LAYERS = 3;

/**
 * Content as UTF-8. Unpacks gzip and Zstandard, and xz and bzip2 if their programs exist. Reads UTF-16 with a byte
 * order mark, as PowerShell redirects it.
 * @param name of the file, as it is printed
 * @throws UsageError that names the missing program
 */
export async function* recoded(
  source: AsyncIterable<Buffer>,
  name: string,
  layers = MOST_LAYERS,
): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    if (first.done === true) return;
    const decode = layers === 0 ? null : decoderOf(first.value, name);
    const all = withRest(first.value, chunks);
    yield* decode === null ? all : recoded(decode(all), name, layers - 1);
  } finally {
    await chunks.return?.();
  }
}

async function* withRest(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

const IN_CHUNKS = { chunkSize: 1 << 18 };
const GZIP = [0x1f, 0x8b, 0x08] as const;
const ZSTANDARD = [0x28, 0xb5, 0x2f, 0xfd] as const;

type Decode = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

function decoderOf(head: Buffer, name: string): Decode | null {
  if (begins(head, GZIP)) return through(createGunzip(IN_CHUNKS));
  if (begins(head, ZSTANDARD)) return through(createZstdDecompress(IN_CHUNKS));
  const foreign = FOREIGN_ARCHIVES.find(({ magic }) => begins(head, magic));
  if (foreign !== undefined) {
    const { from, program } = foreign;
    if (isInstalled(program)) return (source) => filteredThrough(source, program, ['-dc']);
    throw new UsageError(`${name} needs ${program} to be read (apt-get install ${from}), or unpack it`);
  }
  // Other files may begin with the same two bytes, so the second character must be Latin.
  if (begins(head, [0xff, 0xfe]) && head[2] !== 0 && head[3] === 0) return fromUtf16('utf-16le');
  if (begins(head, [0xfe, 0xff]) && head[2] === 0 && head[3] !== 0) return fromUtf16('utf-16be');
  return null;
}

function begins(head: Buffer, magic: readonly number[]): boolean {
  return magic.every((byte, index) => head[index] === byte);
}

function through(decoder: Duplex): Decode {
  return (source) =>
    pipeline(Readable.from(source, { objectMode: false }), decoder, () => {
      // The reader throws the error.
    });
}

function fromUtf16(encoding: 'utf-16le' | 'utf-16be'): Decode {
  const decoder = new TextDecoder(encoding);
  return async function* decoded(source) {
    for await (const chunk of source) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
  };
}
