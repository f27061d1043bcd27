import { BinaryReader } from '@bufbuild/protobuf/wire';

/** Random access to a file, because a model may be larger than memory. */
export interface ByteSource {
  readonly size: number;
  /** At most `bytes` bytes from `at`. They are valid until the next call. */
  readonly read: (at: number, bytes: number) => Uint8Array;
}

export class OnnxFormatError extends Error {}

/** A file that certainly is no model. */
export class NoModelError extends OnnxFormatError {}

/** Content of a field: a number, or where its bytes are in the file, which are read on demand. */
type Field = number | Span;

interface Span {
  readonly start: number;
  readonly end: number;
}

const SEQUENTIAL_BYTES = 1 << 18;
/** Small, because a jump over weights is usually followed by another one. */
const JUMP_BYTES = 1 << 12;
const HEADER_BYTES = 20;
const LONGEST_TEXT = 1 << 16;
const MAX_DEPTH = 100;
/** A model with a million nodes has about ten million fields. More would take minutes, and fill the memory. */
const MAX_FIELDS = 12_000_000;
/** Far more than the eight that TensorRT supports. */
export const MAX_DIMENSIONS = 1024;
const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });

/** A protobuf message: its fields by their number. */
export class Message {
  readonly #wire: WireReader;
  readonly #depth: number;
  readonly #fields = new Map<number, Field[]>();

  /** @throws OnnxFormatError */
  constructor(wire: WireReader, { start, end }: Span, depth = 0) {
    if (depth >= MAX_DEPTH) {
      throw new OnnxFormatError(`byte ${start}: more than ${MAX_DEPTH} messages inside each other`);
    }
    this.#wire = wire;
    this.#depth = depth;
    let at = start;
    while (at < end) {
      const { number, content, next } = wire.field(at, end);
      if (next > end) throw cutOff(end);
      at = next;
      if (content === null) continue;
      const same = this.#fields.get(number);
      if (same === undefined) this.#fields.set(number, [content]);
      else same.push(content);
    }
  }

  fields(number: number): readonly Field[] {
    return this.#fields.get(number) ?? [];
  }

  /** The last one counts, as everywhere in protobuf; 0 without one. */
  number(number: number): number {
    const last = this.fields(number).at(-1);
    return typeof last === 'number' ? last : 0;
  }

  /** Numbers of a repeated field, single or packed. */
  numbers(number: number): number[] {
    return this.fields(number).flatMap((field) => (typeof field === 'number' ? field : this.#wire.packed(field)));
  }

  text(number: number): string {
    return this.texts(number).at(-1) ?? '';
  }

  /** @throws OnnxFormatError for a text longer than any name */
  texts(number: number): string[] {
    return this.#spans(number).map((span) => this.#wire.text(span));
  }

  /** Each message is read when its turn comes. */
  *messages(number: number): Generator<Message> {
    for (const span of this.#spans(number)) yield new Message(this.#wire, span, this.#depth + 1);
  }

  /** Size of the content in bytes. */
  bytes(number: number): number {
    return this.#spans(number).reduce((sum, { start, end }) => sum + end - start, 0);
  }

  #spans(number: number): Span[] {
    return this.fields(number).filter((field) => typeof field !== 'number');
  }
}

/** Reads fields through windows of a file, and skips unread content. */
export class WireReader {
  private readonly source: ByteSource;
  private window: Uint8Array = new Uint8Array(0);
  private reader = new BinaryReader(this.window);
  private windowAt = 0;
  private fieldsRead = 0;

  constructor(source: ByteSource) {
    this.source = source;
  }

  /** The field at an offset of a message that ends at `end`. Its content is null if it has a fixed size: no fact needs it. */
  field(at: number, end: number): { readonly number: number; readonly content: Field | null; readonly next: number } {
    this.fieldsRead += 1;
    if (this.fieldsRead > MAX_FIELDS) {
      throw new OnnxFormatError(`more than ${MAX_FIELDS} fields: not read any further`);
    }
    return this.decode(at, HEADER_BYTES, (reader) => {
      const [number, type] = reader.tag();
      if (type === 0) return { number, content: Number(reader.int64()), next: this.position };
      if (type === 1 || type === 5) {
        reader.skip(type);
        return { number, content: null, next: this.position };
      }
      if (type !== 2) throw new OnnxFormatError(`byte ${at}: a field type that ONNX does not have`);
      const bytes = Number(reader.uint64());
      const start = this.position;
      const next = start + bytes;
      if (next <= end) return { number, content: { start, end: next }, next };
      const left = Math.max(0, end - start);
      throw new OnnxFormatError(
        `byte ${at}: a field of ${bytes} bytes where ${left} are left: the file is cut off, or it is not an ONNX model`,
      );
    });
  }

  text({ start, end }: Span): string {
    const bytes = end - start;
    if (bytes > LONGEST_TEXT) throw new OnnxFormatError(`byte ${start}: a name of ${bytes} bytes`);
    return this.decode(start, bytes, ({ pos }) => {
      if (pos + bytes > this.window.length) throw cutOff(end);
      return TEXT.decode(this.window.subarray(pos, pos + bytes));
    });
  }

  packed({ start, end }: Span): number[] {
    const numbers: number[] = [];
    for (let at = start; at < end; at = this.position) {
      if (numbers.length >= MAX_DIMENSIONS) {
        throw new OnnxFormatError(`byte ${start}: more than ${MAX_DIMENSIONS} dimensions`);
      }
      numbers.push(this.decode(at, HEADER_BYTES, (reader) => Number(reader.int64())));
    }
    return numbers;
  }

  private get position(): number {
    return this.windowAt + this.reader.pos;
  }

  /** Reads something of at most `bytes` bytes; at the end of the file, fewer are there. */
  private decode<Value>(at: number, bytes: number, read: (reader: BinaryReader) => Value): Value {
    const windowEnd = this.windowAt + this.window.length;
    const isNear = at >= this.windowAt && at <= windowEnd;
    if (!isNear || (at + bytes > windowEnd && windowEnd < this.source.size)) {
      this.window = this.source.read(at, Math.max(bytes, isNear ? SEQUENTIAL_BYTES : JUMP_BYTES));
      this.reader = new BinaryReader(this.window);
      this.windowAt = at;
    }
    this.reader.pos = at - this.windowAt;
    try {
      return read(this.reader);
    } catch (error) {
      if (error instanceof OnnxFormatError) throw error;
      throw new OnnxFormatError(`byte ${at}: no field of a protobuf message`, { cause: error });
    }
  }
}

function cutOff(end: number): OnnxFormatError {
  return new OnnxFormatError(`byte ${end}: a field goes on after the end of what holds it`);
}
