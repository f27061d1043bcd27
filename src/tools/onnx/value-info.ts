import type { OnnxDimension, OnnxTensorInfo } from './facts.ts';
import { elementTypeName } from './element-types.ts';
import { numberOf } from './tensor.ts';
import { MAX_DIMENSIONS, OnnxFormatError, type WireField, type WireReader } from './wire-reader.ts';

type TypeFacts = Pick<OnnxTensorInfo, 'elementType' | 'shape'>;

/** A ValueInfoProto: an input or an output with its type. */
export function readValueInfo(wire: WireReader, message: WireField): OnnxTensorInfo {
  let name = '';
  let type: TypeFacts = { elementType: elementTypeName(0), shape: null };
  for (const field of fieldsOf(wire, message)) {
    if (field.number === 1) name = wire.text(field);
    else if (field.number === 2) type = readType(wire, field);
  }
  return { name, ...type };
}

/** Kinds of TypeProto that are no tensors, by the number of their field. */
const OTHER_KINDS: Readonly<Record<number, string>> = {
  4: 'sequence',
  5: 'map',
  7: 'opaque',
  8: 'sparse tensor',
  9: 'optional',
};

function readType(wire: WireReader, message: WireField): TypeFacts {
  let type: TypeFacts = { elementType: elementTypeName(0), shape: null };
  for (const field of fieldsOf(wire, message)) {
    const other = OTHER_KINDS[field.number];
    if (field.number === 1) type = readTensorType(wire, field);
    else if (other !== undefined) type = { elementType: other, shape: null };
  }
  return type;
}

function readTensorType(wire: WireReader, message: WireField): TypeFacts {
  let elementType = elementTypeName(0);
  let shape: OnnxDimension[] | null = null;
  for (const field of fieldsOf(wire, message)) {
    if (field.number === 1) elementType = elementTypeName(numberOf(field));
    else if (field.number === 2) shape = readShape(wire, field);
  }
  return { elementType, shape };
}

function readShape(wire: WireReader, message: WireField): OnnxDimension[] {
  const shape: OnnxDimension[] = [];
  for (const field of fieldsOf(wire, message)) {
    if (field.number !== 1) continue;
    if (shape.length >= MAX_DIMENSIONS) {
      throw new OnnxFormatError(`a shape of more than ${MAX_DIMENSIONS} dimensions`);
    }
    shape.push(readDimension(wire, field));
  }
  return shape;
}

function readDimension(wire: WireReader, message: WireField): OnnxDimension {
  let dimension: OnnxDimension = null;
  for (const field of fieldsOf(wire, message)) {
    // Some exporters write -1 for a size that is not known.
    if (field.number === 1) dimension = numberOf(field) < 0 ? null : numberOf(field);
    else if (field.number === 2) dimension = wire.text(field) || null;
  }
  return dimension;
}

function fieldsOf(wire: WireReader, message: WireField): Iterable<WireField> {
  return message.kind === 'bytes' ? wire.fields(message.start, message.end) : [];
}
