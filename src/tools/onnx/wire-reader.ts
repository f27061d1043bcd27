import { BinaryReader } from '@bufbuild/protobuf/wire';

/** Random access to a file, because a model may be larger than memory. */
export interface ByteSource {
  readonly size: number;
  /** At most `bytes` bytes from `at`. They are valid until the next call. */
  readonly read: (at: number, bytes: number) => Uint8Array;
}

/** One field of a message. Its content is read on demand. */
export type WireField =
  | { readonly number: number; readonly kind: 'number'; readonly value: number }
  | { readonly number: number; readonly kind: 'bytes'; readonly start: number; readonly end: number }
  | { readonly number: number; readonly kind: 'fixed' };

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
/** Far more than the eight that TensorRT supports. */
export const MAX_DIMENSIONS = 1024;
const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });

/** Reader functions by the number of the field; other fields are skipped. */
export type FieldReaders = Readonly<Record<number, (field: WireField) => void>>;

/** Walks protobuf messages through windows of a file, skipping unread fields. */
export class WireReader {
  private readonly source: ByteSource;
  private window: Uint8Array = new Uint8Array(0);
  private reader = new BinaryReader(this.window);
  private windowAt = 0;
  private fieldsRead = 0;
  private depth = 0;

  constructor(source: ByteSource) {
    this.source = source;
  }

  /**
   * The fields of the message between two file offsets, in order.
   * @throws OnnxFormatError
   */
  *fields(start: number, end: number): Generator<WireField> {
    if (this.depth >= MAX_DEPTH) {
      throw new OnnxFormatError(`byte ${start}: more than ${MAX_DEPTH} messages inside each other`);
    }
    this.depth += 1;
    let at = start;
    while (at < end) {
      this.seek(at, HEADER_BYTES);
      const field = this.header(at, end);
      at = field.kind === 'bytes' ? field.end : this.position;
      if (at > end) throw cutOff(end);
      yield field;
    }
    this.depth -= 1;
  }

  /** Passes each field of a message to the reader of its number; skips the others. */
  read(message: WireField, readers: FieldReaders): void {
    if (message.kind !== 'bytes') return;
    for (const field of this.fields(message.start, message.end)) readers[field.number]?.(field);
  }

  /** @throws OnnxFormatError for a text longer than any name */
  text(field: WireField): string {
    if (field.kind !== 'bytes') return '';
    const { start, end } = field;
    if (end - start > LONGEST_TEXT) {
      throw new OnnxFormatError(`byte ${start}: a name of ${end - start} bytes`);
    }
    return TEXT.decode(this.bytes(field));
  }

  /** The content of a field. It is valid until the next call. */
  bytes(field: WireField): Uint8Array {
    if (field.kind !== 'bytes') return new Uint8Array(0);
    const { start, end } = field;
    this.seek(start, end - start);
    const at = start - this.windowAt;
    if (end - this.windowAt > this.window.length) throw cutOff(end);
    return this.window.subarray(at, at + end - start);
  }

  /** Numbers of a repeated field, single or packed. */
  numbers(field: WireField): number[] {
    if (field.kind === 'number') return [field.value];
    if (field.kind !== 'bytes') return [];
    const numbers: number[] = [];
    for (let at = field.start; at < field.end; at = this.position) {
      if (numbers.length >= MAX_DIMENSIONS) {
        throw new OnnxFormatError(`byte ${field.start}: more than ${MAX_DIMENSIONS} dimensions`);
      }
      this.seek(at, HEADER_BYTES);
      numbers.push(this.decode(at, () => Number(this.reader.int64())));
    }
    return numbers;
  }

  private header(at: number, end: number): WireField {
    this.fieldsRead += 1;
    if (this.fieldsRead > MAX_FIELDS) {
      throw new OnnxFormatError(`more than ${MAX_FIELDS} fields: not read any further`);
    }
    return this.decode(at, () => {
      const [number, type] = this.reader.tag();
      switch (type) {
        case 0:
          return { number, kind: 'number', value: Number(this.reader.int64()) };
        case 1:
        case 5:
          this.reader.skip(type);
          return { number, kind: 'fixed' };
        case 2: {
          const bytes = Number(this.reader.uint64());
          const start = this.position;
          if (bytes > end - start) {
            throw new OnnxFormatError(
              `byte ${at}: a field of ${bytes} bytes where ${Math.max(0, end - start)} are left: the file is cut off, or it is not an ONNX model`,
            );
          }
          return { number, kind: 'bytes', start, end: start + bytes };
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
    const isInside = at >= this.windowAt && at + bytes <= windowEnd;
    if (!isInside && (at < this.windowAt || windowEnd < this.source.size || at > windowEnd)) {
      const isNear = at >= this.windowAt && at <= windowEnd;
      const wanted = Math.max(bytes, isNear ? SEQUENTIAL_BYTES : JUMP_BYTES);
      this.window = this.source.read(at, wanted);
      this.reader = new BinaryReader(this.window);
      this.windowAt = at;
      return;
    }
    this.reader.pos = at - this.windowAt;
  }
}

function cutOff(end: number): OnnxFormatError {
  return new OnnxFormatError(`byte ${end}: a field goes on after the end of what holds it`);
}

export function numberOf(field: WireField): number {
  return field.kind === 'number' ? field.value : 0;
}
