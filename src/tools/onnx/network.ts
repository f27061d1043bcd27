import { elementTypeName, type OnnxDimension, opName } from './facts.ts';
import { readValueInfo } from './graph.ts';
import { GraphTally } from './graph-tally.ts';
import { readTensor } from './tensor.ts';
import {
  type ByteSource,
  type FieldReaders,
  numberOf,
  OnnxFormatError,
  type WireField,
  WireReader,
} from './wire-reader.ts';

/** A tensor of which shape and type are known; `values` only of small ones, which shapes are computed from. */
export interface OnnxTensor {
  readonly elementType: string;
  readonly shape: readonly number[];
  readonly values: readonly number[] | null;
}

export type OnnxAttribute = number | string | readonly number[] | OnnxTensor;

export interface OnnxNode {
  readonly name: string;
  /** With its domain, where it is not one of ONNX itself. */
  readonly opType: string;
  /** Empty for an optional one that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, OnnxAttribute>;
}

/** As a model states it; dynamic dimensions have names or nothing. */
interface StatedTensor {
  readonly elementType: string;
  readonly shape: readonly OnnxDimension[] | null;
}

/** The main graph of a model, in its order, which is one in which it can be computed. */
export interface OnnxNetwork {
  readonly nodes: readonly OnnxNode[];
  readonly inputs: ReadonlyMap<string, StatedTensor>;
  readonly outputs: ReadonlySet<string>;
  readonly initializers: ReadonlyMap<string, OnnxTensor>;
  /** Of tensors between the nodes, as far as the file has them. */
  readonly stated: ReadonlyMap<string, StatedTensor>;
}

/** Shapes, axes and scales have a few elements; weights are skipped. */
const MOST_VALUES = 1024;

/** @throws OnnxFormatError if it is not an ONNX model */
export function readNetwork(source: ByteSource): OnnxNetwork {
  const wire = new WireReader(source);
  const nodes: OnnxNode[] = [];
  const inputs = new Map<string, StatedTensor>();
  const outputs = new Set<string>();
  const initializers = new Map<string, OnnxTensor>();
  const stated = new Map<string, StatedTensor>();
  const tally = new GraphTally();
  const addInfo = (field: WireField, infos: Map<string, StatedTensor>): string => {
    const { name, ...info } = readValueInfo(wire, field);
    tally.keep(name);
    infos.set(name, info);
    return name;
  };
  const readers: FieldReaders = {
    1: (field) => nodes.push(readNode(wire, field, tally)),
    5: (field) => {
      const { name, ...tensor } = readValues(wire, field);
      tally.keep(name);
      initializers.set(name, tensor);
    },
    11: (field) => addInfo(field, inputs),
    12: (field) => outputs.add(addInfo(field, stated)),
    13: (field) => addInfo(field, stated),
  };
  wire.read({ number: 0, kind: 'bytes', start: 0, end: source.size }, { 7: (field) => wire.read(field, readers) });
  if (nodes.length === 0) throw new OnnxFormatError('no ONNX model: it has no nodes');
  for (const name of initializers.keys()) inputs.delete(name);
  return { nodes, inputs, outputs, initializers, stated };
}

function readNode(wire: WireReader, message: WireField, tally: GraphTally): OnnxNode {
  const text = (field: WireField): string => {
    const read = wire.text(field);
    tally.keep(read);
    return read;
  };
  let [name, opType, domain] = ['', '', ''];
  const [inputs, outputs]: [string[], string[]] = [[], []];
  const attributes = new Map<string, OnnxAttribute>();
  wire.read(message, {
    1: (field) => inputs.push(text(field)),
    2: (field) => outputs.push(text(field)),
    3: (field) => (name = text(field)),
    4: (field) => (opType = text(field)),
    5: (field) => readAttribute(wire, field, attributes),
    7: (field) => (domain = wire.text(field)),
  });
  // TensorRT's parser names a node without a name after what it puts out.
  const known = name === '' ? `node_of_${outputs[0] ?? ''}` : name;
  return { name: known, opType: opName(domain === 'ai.onnx' ? '' : domain, opType), inputs, outputs, attributes };
}

function readAttribute(wire: WireReader, message: WireField, attributes: Map<string, OnnxAttribute>): void {
  let name = '';
  let value: OnnxAttribute | null = null;
  const integers: number[] = [];
  wire.read(message, {
    1: (field) => (name = wire.text(field)),
    3: (field) => (value = numberOf(field)),
    4: (field) => (value = isShort(field) ? wire.text(field) : ''),
    5: (field) => {
      const { name: _, ...tensor } = readValues(wire, field);
      value = tensor;
    },
    8: (field) => integers.push(...wire.numbers(field)),
  });
  attributes.set(name, value ?? integers);
}

/** Those of plugins may hold whole files. */
function isShort(field: WireField): boolean {
  return field.kind === 'bytes' && field.end - field.start <= MOST_VALUES;
}

/** A TensorProto, with its values where it is small and in the file itself. */
function readValues(wire: WireReader, message: WireField): OnnxTensor & { readonly name: string } {
  const { dataType, dims, external, name } = readTensor(wire, message);
  const elementType = elementTypeName(dataType);
  const elements = dims.reduce((product, size) => product * size, 1);
  if (external !== null || elements > MOST_VALUES) return { name, elementType, shape: dims, values: null };
  const values: number[] = [];
  wire.read(message, {
    4: (field) => values.push(...decoded(wire.bytes(field), 'float32')),
    5: (field) => values.push(...wire.numbers(field)),
    7: (field) => values.push(...wire.numbers(field)),
    9: (field) => values.push(...decoded(wire.bytes(field), elementType)),
  });
  return { name, elementType, shape: dims, values: values.length === elements ? values : null };
}

/** Of the types that shapes are computed in; empty for others. */
function decoded(bytes: Uint8Array, elementType: string): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = (size: number, at: (offset: number) => number): number[] =>
    Array.from({ length: Math.floor(bytes.byteLength / size) }, (_, place) => at(place * size));
  switch (elementType) {
    case 'int64':
      return read(8, (offset) => Number(view.getBigInt64(offset, true)));
    case 'int32':
      return read(4, (offset) => view.getInt32(offset, true));
    case 'float32':
      return read(4, (offset) => view.getFloat32(offset, true));
    case 'bool':
      return [...bytes];
    default:
      return [];
  }
}
