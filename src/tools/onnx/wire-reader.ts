import { BinaryReader } from '@bufbuild/protobuf/wire';

/** Random access to a file, because a model may be larger than memory. */
export interface ByteSource {
  readonly size: number;
  /** At most `bytes` bytes from `at`. They are valid until the next call. */
  readonly read: (at: number, bytes: number) => Uint8Array;
}

/** One field of a message. Its content is read on demand. */
type WireField =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'bytes'; readonly start: number; readonly end: number };

export class OnnxFormatError extends Error {
  override readonly name = 'OnnxFormatError';
}

const SEQUENTIAL_BYTES = 1 << 18;
/** Small, because a jump over weights is usually followed by another one. */
const JUMP_BYTES = 1 << 12;
const HEADER_BYTES = 20;
const LONGEST_TEXT = 1 << 16;
const MAX_DEPTH = 100;
/** A model with a million nodes has about ten million fields; more would take minutes. */
const MAX_FIELDS = 30_000_000;
/** Fields of one message are kept: a million nodes are those of a graph. */
const MAX_FIELDS_OF_MESSAGE = 10_000_000;
/** Far more than the eight that TensorRT supports. */
export const MAX_DIMENSIONS = 1024;
const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });

/** A protobuf message: where its fields are in the file, by their number. */
export class Message {
  readonly #wire: WireReader;
  readonly #depth: number;
  readonly #fields = new Map<number, WireField[]>();

  /** @throws OnnxFormatError */
  constructor(wire: WireReader, start: number, end: number, depth = 0) {
    if (depth >= MAX_DEPTH) {
      throw new OnnxFormatError(`byte ${start}: more than ${MAX_DEPTH} messages inside each other`);
    }
    this.#wire = wire;
    this.#depth = depth;
    let count = 0;
    for (const [number, field] of wire.fields(start, end)) {
      count += 1;
      if (count > MAX_FIELDS_OF_MESSAGE) {
        throw new OnnxFormatError(`more than ${MAX_FIELDS_OF_MESSAGE} fields in one message: not read any further`);
      }
      const same = this.#fields.get(number);
      if (same === undefined) this.#fields.set(number, [field]);
      else same.push(field);
    }
  }

  fields(number: number): readonly WireField[] {
    return this.#fields.get(number) ?? [];
  }

  /** The last one counts, as everywhere in protobuf; 0 without one. */
  number(number: number): number {
    const field = this.fields(number).at(-1);
    return field?.kind === 'number' ? field.value : 0;
  }

  /** Numbers of a repeated field, single or packed. */
  numbers(number: number): number[] {
    return this.fields(number).flatMap((field) => (field.kind === 'number' ? field.value : this.#wire.packed(field)));
  }

  text(number: number): string {
    return this.texts(number).at(-1) ?? '';
  }

  /** @throws OnnxFormatError for a text longer than any name */
  texts(number: number): string[] {
    return this.fields(number).map((field) => (field.kind === 'bytes' ? this.#wire.text(field) : ''));
  }

  /** Each message is read when its turn comes. */
  *messages(number: number): Generator<Message> {
    for (const field of this.fields(number)) {
      if (field.kind === 'bytes') yield new Message(this.#wire, field.start, field.end, this.#depth + 1);
    }
  }

  /** Size of the content in bytes. */
  bytes(number: number): number {
    return this.fields(number).reduce((sum, field) => sum + (field.kind === 'bytes' ? field.end - field.start : 0), 0);
  }
}

type BytesField = Extract<WireField, { readonly kind: 'bytes' }>;

/** Walks protobuf messages through windows of a file, skipping unread fields. */
export class WireReader {
  private readonly source: ByteSource;
  private window: Uint8Array = new Uint8Array(0);
  private reader = new BinaryReader(this.window);
  private windowAt = 0;
  private fieldsRead = 0;

  constructor(source: ByteSource) {
    this.source = source;
  }

  /** The fields of the message between two file offsets with their numbers, in order. */
  *fields(start: number, end: number): Generator<readonly [number, WireField]> {
    let at = start;
    while (at < end) {
      this.seek(at, HEADER_BYTES);
      const [number, field] = this.header(at, end);
      at = field?.kind === 'bytes' ? field.end : this.position;
      if (at > end) throw cutOff(end);
      if (field !== null) yield [number, field];
    }
  }

  text({ start, end }: BytesField): string {
    if (end - start > LONGEST_TEXT) {
      throw new OnnxFormatError(`byte ${start}: a name of ${end - start} bytes`);
    }
    this.seek(start, end - start);
    const at = start - this.windowAt;
    if (end - this.windowAt > this.window.length) throw cutOff(end);
    return TEXT.decode(this.window.subarray(at, at + end - start));
  }

  packed({ start, end }: BytesField): number[] {
    const numbers: number[] = [];
    for (let at = start; at < end; at = this.position) {
      if (numbers.length >= MAX_DIMENSIONS) {
        throw new OnnxFormatError(`byte ${start}: more than ${MAX_DIMENSIONS} dimensions`);
      }
      this.seek(at, HEADER_BYTES);
      numbers.push(this.decode(at, () => Number(this.reader.int64())));
    }
    return numbers;
  }

  /** Null for a field of a fixed size, which no fact needs. */
  private header(at: number, end: number): readonly [number, WireField | null] {
    this.fieldsRead += 1;
    if (this.fieldsRead > MAX_FIELDS) {
      throw new OnnxFormatError(`more than ${MAX_FIELDS} fields: not read any further`);
    }
    return this.decode(at, () => {
      const [number, type] = this.reader.tag();
      switch (type) {
        case 0:
          return [number, { kind: 'number', value: Number(this.reader.int64()) }];
        case 1:
        case 5:
          this.reader.skip(type);
          return [number, null];
        case 2: {
          const bytes = Number(this.reader.uint64());
          const start = this.position;
          if (bytes > end - start) {
            throw new OnnxFormatError(
              `byte ${at}: a field of ${bytes} bytes where ${Math.max(0, end - start)} are left: the file is cut off, or it is not an ONNX model`,
            );
          }
          return [number, { kind: 'bytes', start, end: start + bytes }];
        }
        default:
          throw new OnnxFormatError(`byte ${at}: a field type that ONNX does not have`);
      }
    });
  }

  private decode<Value>(at: number, read: () => Value): Value {
    try {
      return read();
    } catch (error) {
      if (error instanceof OnnxFormatError) throw error;
      throw new OnnxFormatError(`byte ${at}: no field of a protobuf message`, { cause: error });
    }
  }

  private get position(): number {
    return this.windowAt + this.reader.pos;
  }

  /** Makes `bytes` bytes from `at` readable, or fewer at the end of the file. */
  private seek(at: number, bytes: number): void {
    const windowEnd = this.windowAt + this.reader.len;
    const isNear = at >= this.windowAt && at <= windowEnd;
    if (isNear && (at + bytes <= windowEnd || windowEnd >= this.source.size)) {
      this.reader.pos = at - this.windowAt;
      return;
    }
    this.window = this.source.read(at, Math.max(bytes, isNear ? SEQUENTIAL_BYTES : JUMP_BYTES));
    this.reader = new BinaryReader(this.window);
    this.windowAt = at;
  }
}

function cutOff(end: number): OnnxFormatError {
  return new OnnxFormatError(`byte ${end}: a field goes on after the end of what holds it`);
}
