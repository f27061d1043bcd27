import { elementTypeName, type OnnxDimension, type OnnxTensorInfo, shapeText } from './facts.ts';
import type { GraphTally } from './graph-tally.ts';
import { type QuantizingNode, readNode } from './node.ts';
import { numberOf, readTensor } from './tensor.ts';
import { MAX_DIMENSIONS, OnnxFormatError, type WireField, type WireReader } from './wire-reader.ts';

export interface GraphFacts {
  readonly inputs: readonly OnnxTensorInfo[];
  readonly outputs: readonly OnnxTensorInfo[];
  readonly nodes: number;
  readonly nestedNodes: number;
  readonly initializers: number;
  readonly quantizing: readonly QuantizingNode[];
}

/** A GraphProto: the main one, or one inside of a node. */
export function readGraph(wire: WireReader, message: WireField, tally: GraphTally): GraphFacts {
  const inputs: OnnxTensorInfo[] = [];
  const outputs: OnnxTensorInfo[] = [];
  const initialized = new Set<string>();
  const quantizing: QuantizingNode[] = [];
  let nodes = 0;
  let nestedNodes = 0;
  let initializers = 0;
  const fields = message.kind === 'bytes' ? wire.fields(message.start, message.end) : [];
  for (const field of fields) {
    switch (field.number) {
      case 1: {
        const node = readNode(wire, field, tally, readGraph);
        nodes += 1;
        nestedNodes += node.nestedNodes;
        for (const inner of node.quantizing) quantizing.push(inner);
        break;
      }
      case 5: {
        const tensor = readTensor(wire, field);
        initializers += 1;
        initialized.add(tensor.name);
        tally.setType(tensor.name, tensor.dataType);
        tally.addTensor(tensor);
        break;
      }
      case 11:
      case 12: {
        const info = readValueInfo(wire, field);
        tally.keep(`${info.name} ${shapeText(info.shape)}`);
        (field.number === 11 ? inputs : outputs).push(info);
        break;
      }
      case 15:
        initializers += 1;
        break;
    }
  }
  const open = inputs.filter(({ name }) => !initialized.has(name));
  return { inputs: open, outputs, nodes, nestedNodes, initializers, quantizing };
}

type TypeFacts = Pick<OnnxTensorInfo, 'elementType' | 'shape'>;

/** A ValueInfoProto: an input or an output with its type. */
function readValueInfo(wire: WireReader, message: WireField): OnnxTensorInfo {
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
