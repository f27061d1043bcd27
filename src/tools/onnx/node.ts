import type { GraphTally } from './graph-tally.ts';
import { numberOf, readTensor } from './tensor.ts';
import type { WireField, WireReader } from './wire-reader.ts';

/** A node that quantizes or dequantizes. To what, may hang on a tensor that comes later in the file. */
export interface QuantizingNode {
  readonly isQuantize: boolean;
  /** What states the type, the surest first. */
  readonly typedBy: readonly string[];
  /** By its attribute `output_dtype`, else its name; 0 when neither says it. */
  readonly outputType: number;
}

interface NodeFacts {
  readonly nestedNodes: number;
  readonly quantizing: readonly QuantizingNode[];
}

interface InnerGraph extends NodeFacts {
  readonly nodes: number;
}

/** Reads a graph in an attribute; handed over, as graphs hold nodes. */
type ReadGraph = (wire: WireReader, message: WireField, tally: GraphTally) => InnerGraph;

const QUANTIZE = /Quantize(?:Linear)?$/;
const DEQUANTIZE = /Dequantize(?:Linear)?$/;
/** TensorRT's own operators, which ModelOpt writes, name their type: TRT_FP8QuantizeLinear, TRT_MXFP8DynamicQuantize. */
const TYPE_IN_NAME: readonly (readonly [RegExp, dataType: number])[] = [
  [/^TRT_(?:MX)?FP8/, 17],
  [/^TRT_INT4/, 22],
  [/^TRT_FP4/, 23],
];

/** A NodeProto with the graphs in its attributes. */
export function readNode(
  wire: WireReader,
  message: WireField,
  tally: GraphTally,
  readInnerGraph: ReadGraph,
): NodeFacts {
  let opType = '';
  let domain = '';
  let inputs = 0;
  let source = '';
  let zeroPoint = '';
  let output = '';
  let outputType = 0;
  let nestedNodes = 0;
  let tensorType: number | null = null;
  const quantizing: QuantizingNode[] = [];
  const fields = message.kind === 'bytes' ? wire.fields(message.start, message.end) : [];
  for (const field of fields) {
    switch (field.number) {
      case 1:
        if (inputs === 0) source = wire.text(field);
        else if (inputs === 2) zeroPoint = wire.text(field);
        inputs += 1;
        break;
      case 2:
        output ||= wire.text(field);
        break;
      case 4:
        opType = wire.text(field);
        break;
      case 5: {
        const attribute = readAttribute(wire, field, tally, readInnerGraph);
        nestedNodes += attribute.nestedNodes;
        tensorType = attribute.tensorType ?? tensorType;
        if (attribute.name === 'output_dtype') outputType = attribute.integer;
        for (const inner of attribute.quantizing) quantizing.push(inner);
        break;
      }
      case 7:
        domain = wire.text(field);
        break;
    }
  }
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

interface AttributeFacts extends NodeFacts {
  readonly name: string;
  readonly integer: number;
  readonly tensorType: number | null;
}

function readAttribute(
  wire: WireReader,
  message: WireField,
  tally: GraphTally,
  readInnerGraph: ReadGraph,
): AttributeFacts {
  let name = '';
  let integer = 0;
  let tensorType: number | null = null;
  let nestedNodes = 0;
  const quantizing: QuantizingNode[] = [];
  const fields = message.kind === 'bytes' ? wire.fields(message.start, message.end) : [];
  for (const field of fields) {
    switch (field.number) {
      case 1:
        name = wire.text(field);
        break;
      case 3:
        integer = numberOf(field);
        break;
      case 5:
      case 10: {
        const tensor = readTensor(wire, field);
        tally.addTensor(tensor);
        tensorType = tensor.dataType;
        break;
      }
      case 6:
      case 11: {
        const inner = readInnerGraph(wire, field, tally);
        nestedNodes += inner.nodes + inner.nestedNodes;
        for (const node of inner.quantizing) quantizing.push(node);
        break;
      }
    }
  }
  return { name, integer, tensorType, nestedNodes, quantizing };
}
