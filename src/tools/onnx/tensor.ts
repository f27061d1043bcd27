import { elementsBytes, elementTypeName } from './facts.ts';
import { numberOf, OnnxFormatError, type WireField, type WireReader } from './wire-reader.ts';

/** A TensorProto without its values. */
export type TensorHeader = ReturnType<typeof readTensor>;

const EXTERNAL_KEYS = new Set(['location', 'offset', 'length']);

export function readTensor(wire: WireReader, message: WireField) {
  let name = '';
  let dataType = 0;
  let payloadBytes = 0;
  let isExternal = false;
  const dims: number[] = [];
  const entries = new Map<string, string>();
  const addPayload = (field: WireField): void => {
    payloadBytes += field.kind === 'bytes' ? field.end - field.start : 0;
  };
  wire.read(message, {
    1: (field) => dims.push(...wire.numbers(field)),
    2: (field) => (dataType = numberOf(field)),
    6: addPayload,
    8: (field) => (name = wire.text(field)),
    9: addPayload,
    13: (field) => readEntry(wire, field, entries),
    14: (field) => (isExternal = numberOf(field) === 1),
  });
  const elements = dims.reduce((product, size) => product * Math.max(0, size), 1);
  const bytes = elementsBytes(elementTypeName(dataType), elements) ?? payloadBytes;
  if (!(bytes <= Number.MAX_SAFE_INTEGER)) {
    throw new OnnxFormatError(`a tensor of ${dims.join('x')}: more bytes than there are`);
  }
  if (!isExternal) return { name, dataType, dims, bytes, external: null };
  const offset = wholeNumber(entries.get('offset')) ?? 0;
  const length = wholeNumber(entries.get('length')) ?? bytes;
  const location = entries.get('location') ?? '';
  // Its values are in a file of their own.
  return { name, dataType, dims, bytes, external: { location, end: offset + length } };
}

/** A StringStringEntryProto. */
function readEntry(wire: WireReader, message: WireField, entries: Map<string, string>): void {
  let key = '';
  let value = '';
  wire.read(message, { 1: (field) => (key = wire.text(field)), 2: (field) => (value = wire.text(field)) });
  if (EXTERNAL_KEYS.has(key)) entries.set(key, value);
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
