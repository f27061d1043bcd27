import { compareTexts } from '../../text/canonical-json.ts';
import { elementsBytes, elementTypeName, type OnnxDimension, type OnnxTensorInfo } from './facts.ts';
import { MAX_DIMENSIONS, type Message, OnnxFormatError } from './wire-reader.ts';

const QUANTIZE = /Quantize(?:Linear)?$/;
const DEQUANTIZE = /Dequantize(?:Linear)?$/;
/** TensorRT's operators in the form of ModelOpt contain their type: TRT_FP8QuantizeLinear. */
const TYPE_IN_NAME: readonly (readonly [RegExp, dataType: number])[] = [
  [/^TRT_(?:MX)?FP8/, 17],
  [/^TRT_INT4/, 22],
  [/^TRT_FP4/, 23],
];

/** Kinds of TypeProto other than tensors, by field number. */
const OTHER_KINDS = { 4: 'sequence', 5: 'map', 7: 'opaque', 8: 'sparse tensor', 9: 'optional' } as const;

/** Reads the graphs of a model, including nested ones and those of functions, and counts their content. */
export class GraphReader {
  readonly #ops = new Map<string, { domain: string; opType: string; count: number }>();
  readonly #byType = new Map<number, { tensors: number; bytes: number }>();
  readonly #files = new Map<string, { tensors: number; neededBytes: number }>();
  readonly #types = new Map<string, number>();
  /**
   * Nodes that quantize or dequantize, with the tensors that determine the type, most reliable first. `outputType` 0:
   * no stated type.
   */
  readonly #quantizing: { isQuantize: boolean; typedBy: readonly string[]; outputType: number }[] = [];
  #inlineBytes = 0;
  #externalBytes = 0;
  /** Number of nodes in all graphs. */
  nodes = 0;

  facts() {
    const types = Map.groupBy(this.#quantizing, ({ typedBy, outputType }) => {
      const [known] = typedBy.flatMap((tensor) => this.#types.get(tensor) ?? []);
      const dataType = known ?? outputType;
      return dataType === 0 ? 'unknown' : elementTypeName(dataType);
    });
    const quantizeNodes = this.#quantizing.filter(({ isQuantize }) => isQuantize).length;
    return {
      ops: [...this.#ops.values()].toSorted(
        (a, b) => b.count - a.count || compareTexts(a.domain, b.domain) || compareTexts(a.opType, b.opType),
      ),
      inlineBytes: this.#inlineBytes,
      externalBytes: this.#externalBytes,
      weights: [...this.#byType]
        .map(([dataType, sum]) => ({ elementType: elementTypeName(dataType), ...sum }))
        .toSorted((a, b) => b.bytes - a.bytes || compareTexts(a.elementType, b.elementType)),
      quantizeNodes,
      dequantizeNodes: this.#quantizing.length - quantizeNodes,
      quantizedTypes: [...types]
        .map(([elementType, { length: nodes }]) => ({ elementType, nodes }))
        .toSorted((a, b) => b.nodes - a.nodes),
      externalFiles: [...this.#files]
        .map(([location, file]) => ({ location, ...file }))
        .toSorted((a, b) => compareTexts(a.location, b.location)),
    };
  }

  /**
   * A GraphProto: the main graph, or one inside a node. @param pieces pieces of the message, because Protocol Buffers
   * may split it
   */
  readGraph(pieces: readonly Message[]) {
    const [inputs, outputs]: [OnnxTensorInfo[], OnnxTensorInfo[]] = [[], []];
    const initialized = new Set<string>();
    let [nodes, initializers] = [0, 0];
    for (const piece of pieces) {
      for (const node of piece.messages(1)) this.readNode(node);
      for (const tensor of piece.messages(5)) {
        const name = tensor.text(8);
        initialized.add(name);
        this.#types.set(name, this.#readTensor(tensor));
      }
      for (const input of piece.messages(11)) inputs.push(readValueInfo(input));
      for (const output of piece.messages(12)) outputs.push(readValueInfo(output));
      nodes += piece.fields(1).length;
      initializers += piece.fields(5).length + piece.fields(15).length;
    }
    return { inputs: inputs.filter(({ name }) => !initialized.has(name)), outputs, nodes, initializers };
  }

  /** A NodeProto with the graphs in its attributes. */
  readNode(node: Message): void {
    this.nodes += 1;
    const opType = node.text(4);
    let outputType = 0;
    let tensorType: number | null = null;
    for (const attribute of node.messages(5)) {
      for (const tensor of [...attribute.messages(5), ...attribute.messages(10)]) tensorType = this.#readTensor(tensor);
      for (const graph of [...attribute.messages(6), ...attribute.messages(11)]) this.readGraph([graph]);
      if (attribute.text(1) === 'output_dtype') outputType = attribute.number(3);
    }
    this.#addOp(node.text(7), opType);
    if (opType === 'Constant' && tensorType !== null) this.#types.set(node.texts(2).find(Boolean) ?? '', tensorType);
    const isQuantize = QUANTIZE.test(opType);
    if (!isQuantize && !DEQUANTIZE.test(opType)) return;
    const [source = '', , zeroPoint = ''] = node.texts(1);
    const typedBy = isQuantize ? [zeroPoint] : [zeroPoint, source];
    outputType ||= TYPE_IN_NAME.find(([name]) => name.test(opType))?.[1] ?? 0;
    this.#quantizing.push({ isQuantize, typedBy, outputType });
  }

  #addOp(domain: string, opType: string): void {
    const standard = domain === 'ai.onnx' ? '' : domain;
    const key = `${standard}\0${opType}`;
    const known = this.#ops.get(key);
    this.#ops.set(key, { domain: standard, opType, count: (known?.count ?? 0) + 1 });
  }

  /** A TensorProto. Its values are counted but not read. Returns its type. */
  #readTensor(tensor: Message): number {
    const dataType = tensor.number(2);
    const dims = tensor.numbers(1);
    const elements = dims.reduce((product, size) => product * Math.max(0, size), 1);
    const bytes = elementsBytes(elementTypeName(dataType), elements) ?? tensor.bytes(6) + tensor.bytes(9);
    if (!(bytes <= Number.MAX_SAFE_INTEGER)) {
      throw new OnnxFormatError(`a tensor of ${dims.join('x')}: more bytes than there are`);
    }
    const sum = this.#byType.get(dataType) ?? { tensors: 0, bytes: 0 };
    this.#byType.set(dataType, { tensors: sum.tensors + 1, bytes: sum.bytes + bytes });
    if (tensor.number(14) === 1) this.#addExternal(tensor, bytes);
    else this.#inlineBytes += bytes;
    return dataType;
  }

  #addExternal(tensor: Message, bytes: number): void {
    const entries = new Map([...tensor.messages(13)].map((entry) => [entry.text(1), entry.text(2)]));
    const location = entries.get('location') ?? '';
    const end = (wholeNumber(entries.get('offset')) ?? 0) + (wholeNumber(entries.get('length')) ?? bytes);
    const file = this.#files.get(location);
    this.#externalBytes += bytes;
    const neededBytes = Math.max(file?.neededBytes ?? 0, end);
    this.#files.set(location, { tensors: (file?.tensors ?? 0) + 1, neededBytes });
  }
}

/** A ValueInfoProto: an input or output with its type. */
function readValueInfo(message: Message): OnnxTensorInfo {
  const [type] = message.messages(2);
  const [tensor] = type?.messages(1) ?? [];
  const [shape] = tensor?.messages(2) ?? [];
  if (shape !== undefined && shape.fields(1).length > MAX_DIMENSIONS) {
    throw new OnnxFormatError(`a shape of more than ${MAX_DIMENSIONS} dimensions`);
  }
  const other = Object.entries(OTHER_KINDS).find(([number]) => (type?.fields(Number(number)) ?? []).length > 0)?.[1];
  return {
    name: message.text(1),
    elementType: other ?? elementTypeName(tensor?.number(1) ?? 0),
    shape: shape === undefined ? null : [...shape.messages(1)].map(dimensionOf),
  };
}

/** Some exporters write -1 for an unknown size. */
function dimensionOf(dimension: Message): OnnxDimension {
  if (dimension.fields(1).length === 0) return dimension.text(2) || null;
  const size = dimension.number(1);
  return size < 0 ? null : size;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
