import { elementsBytes, elementTypeName } from './facts.ts';
import { OnnxFormatError, type WireField, type WireReader } from './wire-reader.ts';

/** A TensorProto without its values. */
export interface TensorHeader {
  readonly name: string;
  readonly dataType: number;
  readonly bytes: number;
  /** Where its values are, when they are in a file of their own. */
  readonly external: { readonly location: string; readonly end: number } | null;
}

const EXTERNAL_KEYS = new Set(['location', 'offset', 'length']);

/** Reads what describes a tensor and jumps over its values. */
export function readTensor(wire: WireReader, message: WireField): TensorHeader {
  let name = '';
  let dataType = 0;
  let payloadBytes = 0;
  let isExternal = false;
  const dims: number[] = [];
  const entries = new Map<string, string>();
  if (message.kind === 'bytes') {
    for (const field of wire.fields(message.start, message.end)) {
      switch (field.number) {
        case 1:
          dims.push(...wire.numbers(field));
          break;
        case 2:
          dataType = numberOf(field);
          break;
        case 6:
        case 9:
          payloadBytes += field.kind === 'bytes' ? field.end - field.start : 0;
          break;
        case 8:
          name = wire.text(field);
          break;
        case 13:
          readEntry(wire, field, entries);
          break;
        case 14:
          isExternal = numberOf(field) === 1;
          break;
      }
    }
  }
  const elements = dims.reduce((product, size) => product * Math.max(0, size), 1);
  const bytes = elementsBytes(elementTypeName(dataType), elements) ?? payloadBytes;
  if (!(bytes <= Number.MAX_SAFE_INTEGER)) {
    throw new OnnxFormatError(`a tensor of ${dims.join('x')}: more bytes than there are`);
  }
  if (!isExternal) return { name, dataType, bytes, external: null };
  const offset = wholeNumber(entries.get('offset')) ?? 0;
  const length = wholeNumber(entries.get('length')) ?? bytes;
  const location = entries.get('location') ?? '';
  return { name, dataType, bytes, external: { location, end: offset + length } };
}

export function numberOf(field: WireField): number {
  return field.kind === 'number' ? field.value : 0;
}

/** A StringStringEntryProto. */
function readEntry(wire: WireReader, message: WireField, entries: Map<string, string>): void {
  if (message.kind !== 'bytes') return;
  let key = '';
  let value = '';
  for (const field of wire.fields(message.start, message.end)) {
    if (field.number === 1) key = wire.text(field);
    else if (field.number === 2) value = wire.text(field);
  }
  if (EXTERNAL_KEYS.has(key)) entries.set(key, value);
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
