import { elementTypeName, type OnnxDimension, type OnnxTensorInfo, shapeText } from './facts.ts';
import type { GraphTally } from './graph-tally.ts';
import { readTensor } from './tensor.ts';
import {
  type FieldReaders,
  MAX_DIMENSIONS,
  numberOf,
  OnnxFormatError,
  type WireField,
  type WireReader,
} from './wire-reader.ts';

/** A node that quantizes or dequantizes. Its type may depend on a tensor later in the file. */
export interface QuantizingNode {
  readonly isQuantize: boolean;
  /** Tensors that determine the type, most reliable first. */
  readonly typedBy: readonly string[];
  /** From the attribute `output_dtype`, else the name; 0 if neither states it. */
  readonly outputType: number;
}

/** What is inside of a graph, a node or an attribute. */
interface NodeFacts {
  readonly nestedNodes: number;
  readonly quantizing: readonly QuantizingNode[];
}

/** A GraphProto: the main one, or one inside a node. @param pieces of a message, which Protocol Buffers may cut into several */
export function readGraph(wire: WireReader, pieces: readonly WireField[], tally: GraphTally) {
  const inputs: OnnxTensorInfo[] = [];
  const outputs: OnnxTensorInfo[] = [];
  const initialized = new Set<string>();
  const quantizing: QuantizingNode[] = [];
  let nodes = 0;
  let nestedNodes = 0;
  let initializers = 0;
  const addInfo = (field: WireField, infos: OnnxTensorInfo[]): void => {
    const info = readValueInfo(wire, field);
    tally.keep(`${info.name} ${shapeText(info.shape)}`);
    infos.push(info);
  };
  const readers: FieldReaders = {
    1: (field) => {
      const node = readNode(wire, field, tally);
      nodes += 1;
      nestedNodes += node.nestedNodes;
      for (const inner of node.quantizing) quantizing.push(inner);
    },
    5: (field) => {
      const tensor = readTensor(wire, field);
      initializers += 1;
      initialized.add(tensor.name);
      tally.setType(tensor.name, tensor.dataType);
      tally.addTensor(tensor);
    },
    11: (field) => addInfo(field, inputs),
    12: (field) => addInfo(field, outputs),
    15: () => (initializers += 1),
  };
  for (const piece of pieces) wire.read(piece, readers);
  const open = inputs.filter(({ name }) => !initialized.has(name));
  return { inputs: open, outputs, nodes, nestedNodes, initializers, quantizing };
}

const QUANTIZE = /Quantize(?:Linear)?$/;
const DEQUANTIZE = /Dequantize(?:Linear)?$/;
/** TensorRT's operators, as ModelOpt writes them, name their type: TRT_FP8QuantizeLinear. */
const TYPE_IN_NAME: readonly (readonly [RegExp, dataType: number])[] = [
  [/^TRT_(?:MX)?FP8/, 17],
  [/^TRT_INT4/, 22],
  [/^TRT_FP4/, 23],
];

/** A NodeProto with the graphs in its attributes. */
export function readNode(wire: WireReader, message: WireField, tally: GraphTally): NodeFacts {
  let opType = '';
  let domain = '';
  let output = '';
  let outputType = 0;
  let nestedNodes = 0;
  let tensorType: number | null = null;
  let inputs = 0;
  let source = '';
  let zeroPoint = '';
  const quantizing: QuantizingNode[] = [];
  wire.read(message, {
    1: (field) => {
      if (inputs === 0) source = wire.text(field);
      else if (inputs === 2) zeroPoint = wire.text(field);
      inputs += 1;
    },
    2: (field) => (output ||= wire.text(field)),
    4: (field) => (opType = wire.text(field)),
    5: (field) => {
      const attribute = readAttribute(wire, field, tally);
      nestedNodes += attribute.nestedNodes;
      tensorType = attribute.tensorType ?? tensorType;
      if (attribute.name === 'output_dtype') outputType = attribute.integer;
      for (const inner of attribute.quantizing) quantizing.push(inner);
    },
    7: (field) => (domain = wire.text(field)),
  });
  tally.addOp(domain, opType);
  if (opType === 'Constant' && tensorType !== null) tally.setType(output, tensorType);
  outputType ||= TYPE_IN_NAME.find(([name]) => name.test(opType))?.[1] ?? 0;
  if (QUANTIZE.test(opType)) {
    tally.keep(zeroPoint);
    quantizing.push({ isQuantize: true, typedBy: [zeroPoint], outputType });
  } else if (DEQUANTIZE.test(opType)) {
    tally.keep(zeroPoint + source);
    quantizing.push({ isQuantize: false, typedBy: [zeroPoint, source], outputType });
  }
  return { nestedNodes, quantizing };
}

function readAttribute(wire: WireReader, message: WireField, tally: GraphTally) {
  let name = '';
  let integer = 0;
  let tensorType: number | null = null;
  let nestedNodes = 0;
  const quantizing: QuantizingNode[] = [];
  const addTensor = (field: WireField): void => {
    const tensor = readTensor(wire, field);
    tally.addTensor(tensor);
    tensorType = tensor.dataType;
  };
  const addGraph = (field: WireField): void => {
    const inner = readGraph(wire, [field], tally);
    nestedNodes += inner.nodes + inner.nestedNodes;
    for (const node of inner.quantizing) quantizing.push(node);
  };
  wire.read(message, {
    1: (field) => (name = wire.text(field)),
    3: (field) => (integer = numberOf(field)),
    5: addTensor,
    6: addGraph,
    10: addTensor,
    11: addGraph,
  });
  return { name, integer, tensorType, nestedNodes, quantizing };
}

type TypeFacts = Pick<OnnxTensorInfo, 'elementType' | 'shape'>;

/** A ValueInfoProto: an input or an output with its type. */
function readValueInfo(wire: WireReader, message: WireField): OnnxTensorInfo {
  let name = '';
  let type: TypeFacts = { elementType: elementTypeName(0), shape: null };
  wire.read(message, { 1: (field) => (name = wire.text(field)), 2: (field) => (type = readType(wire, field)) });
  return { name, ...type };
}

/** TypeProto kinds other than tensors, by field number. */
const OTHER_KINDS = { 4: 'sequence', 5: 'map', 7: 'opaque', 8: 'sparse tensor', 9: 'optional' } as const;

function readType(wire: WireReader, message: WireField): TypeFacts {
  let type: TypeFacts = { elementType: elementTypeName(0), shape: null };
  const others = Object.entries(OTHER_KINDS).map(([number, elementType]) => [
    number,
    () => (type = { elementType, shape: null }),
  ]);
  wire.read(message, { 1: (field) => (type = readTensorType(wire, field)), ...Object.fromEntries(others) });
  return type;
}

function readTensorType(wire: WireReader, message: WireField): TypeFacts {
  let elementType = elementTypeName(0);
  let shape: OnnxDimension[] | null = null;
  wire.read(message, {
    1: (field) => (elementType = elementTypeName(numberOf(field))),
    2: (field) => (shape = readShape(wire, field)),
  });
  return { elementType, shape };
}

function readShape(wire: WireReader, message: WireField): OnnxDimension[] {
  const shape: OnnxDimension[] = [];
  wire.read(message, {
    1: (field) => {
      if (shape.length >= MAX_DIMENSIONS) {
        throw new OnnxFormatError(`a shape of more than ${MAX_DIMENSIONS} dimensions`);
      }
      shape.push(readDimension(wire, field));
    },
  });
  return shape;
}

function readDimension(wire: WireReader, message: WireField): OnnxDimension {
  let dimension: OnnxDimension = null;
  wire.read(message, {
    // Some exporters write -1 for an unknown size.
    1: (field) => (dimension = numberOf(field) < 0 ? null : numberOf(field)),
    2: (field) => (dimension = wire.text(field) || null),
  });
  return dimension;
}
