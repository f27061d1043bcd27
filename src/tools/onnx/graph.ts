import { compareTexts } from '../../text/canonical-json.ts';
import { elementsBytes, elementTypeName, type OnnxDimension, type OnnxFacts, shapeText } from './facts.ts';
import {
  type FieldReaders,
  MAX_DIMENSIONS,
  numberOf,
  OnnxFormatError,
  type WireField,
  type WireReader,
} from './wire-reader.ts';

/** Limits for stored names. A model with a hundred thousand tensors has about ten million characters. */
const MAX_KEPT_CHARACTERS = 1 << 26;
const MAX_KEPT_NAMES = 1_000_000;

const QUANTIZE = /Quantize(?:Linear)?$/;
const DEQUANTIZE = /Dequantize(?:Linear)?$/;
/** TensorRT's operators in the form of ModelOpt contain their type: TRT_FP8QuantizeLinear. */
const TYPE_IN_NAME: readonly (readonly [RegExp, dataType: number])[] = [
  [/^TRT_(?:MX)?FP8/, 17],
  [/^TRT_INT4/, 22],
  [/^TRT_FP4/, 23],
];

type TensorInfo = OnnxFacts['inputs'][number];

/** Reads the graphs of a model, including nested ones and those of functions, and counts their content. */
export class GraphReader {
  readonly #wire: WireReader;
  readonly #ops = new Map<string, OnnxFacts['ops'][number]>();
  readonly #byType = new Map<number, { readonly tensors: number; readonly bytes: number }>();
  readonly #files = new Map<string, { readonly tensors: number; readonly neededBytes: number }>();
  readonly #types = new Map<string, number>();
  /**
   * Nodes that quantize or dequantize, with the tensors that determine the type, most reliable first. `outputType` 0:
   * no stated type.
   */
  readonly #quantizing: { isQuantize: boolean; typedBy: readonly string[]; outputType: number }[] = [];
  #keptCharacters = 0;
  #keptNames = 0;
  #inlineBytes = 0;
  #externalBytes = 0;
  /** Number of nodes in all graphs. */
  nodes = 0;

  constructor(wire: WireReader) {
    this.#wire = wire;
  }

  facts() {
    const types = new Map<string, number>();
    for (const { typedBy, outputType } of this.#quantizing) {
      const [known] = typedBy.flatMap((tensor) => this.#types.get(tensor) ?? []);
      const dataType = known ?? outputType;
      const elementType = dataType === 0 ? 'unknown' : elementTypeName(dataType);
      types.set(elementType, (types.get(elementType) ?? 0) + 1);
    }
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
        .map(([elementType, nodes]) => ({ elementType, nodes }))
        .toSorted((a, b) => b.nodes - a.nodes),
      externalFiles: [...this.#files]
        .map(([location, file]) => ({ location, ...file }))
        .toSorted((a, b) => compareTexts(a.location, b.location)),
    };
  }

  /** @throws OnnxFormatError when there are more names than in any real model */
  keep(name: string): void {
    this.#keptCharacters += name.length;
    this.#keptNames += 1;
    if (this.#keptCharacters > MAX_KEPT_CHARACTERS || this.#keptNames > MAX_KEPT_NAMES) {
      throw new OnnxFormatError(`more than ${this.#keptNames - 1} names: not read any further`);
    }
  }

  /**
   * A GraphProto: the main graph, or one inside a node. @param pieces pieces of the message, because Protocol Buffers
   * may split it
   */
  readGraph(pieces: readonly WireField[]) {
    const inputs: TensorInfo[] = [];
    const outputs: TensorInfo[] = [];
    const initialized = new Set<string>();
    let nodes = 0;
    let initializers = 0;
    const readers: FieldReaders = {
      1: (field) => {
        nodes += 1;
        this.readNode(field);
      },
      5: (field) => {
        const { dataType, name } = this.#readTensor(field);
        initializers += 1;
        initialized.add(name);
        this.#setType(name, dataType);
      },
      11: (field) => inputs.push(this.#readValueInfo(field)),
      12: (field) => outputs.push(this.#readValueInfo(field)),
      15: () => (initializers += 1),
    };
    for (const piece of pieces) this.#wire.read(piece, readers);
    return { inputs: inputs.filter(({ name }) => !initialized.has(name)), outputs, nodes, initializers };
  }

  /** A NodeProto with the graphs in its attributes. */
  readNode(message: WireField): void {
    let [opType, domain, output] = ['', '', ''];
    let outputType = 0;
    let tensorType: number | null = null;
    const inputs: string[] = [];
    this.nodes += 1;
    this.#wire.read(message, {
      1: (field) => inputs.length < 3 && inputs.push(this.#wire.text(field)),
      2: (field) => (output ||= this.#wire.text(field)),
      4: (field) => (opType = this.#wire.text(field)),
      5: (field) => {
        const attribute = this.#readAttribute(field);
        tensorType = attribute.tensorType ?? tensorType;
        if (attribute.name === 'output_dtype') outputType = attribute.integer;
      },
      7: (field) => (domain = this.#wire.text(field)),
    });
    this.#addOp(domain, opType);
    if (opType === 'Constant' && tensorType !== null) this.#setType(output, tensorType);
    const [source = '', , zeroPoint = ''] = inputs;
    const isQuantize = QUANTIZE.test(opType);
    if (!isQuantize && !DEQUANTIZE.test(opType)) return;
    const typedBy = isQuantize ? [zeroPoint] : [zeroPoint, source];
    this.keep(typedBy.join(''));
    outputType ||= TYPE_IN_NAME.find(([name]) => name.test(opType))?.[1] ?? 0;
    this.#quantizing.push({ isQuantize, typedBy, outputType });
  }

  #addOp(domain: string, opType: string): void {
    const standard = domain === 'ai.onnx' ? '' : domain;
    const key = `${standard}\0${opType}`;
    const known = this.#ops.get(key);
    if (known === undefined) this.keep(key);
    this.#ops.set(key, { domain: standard, opType, count: (known?.count ?? 0) + 1 });
  }

  #setType(tensor: string, dataType: number): void {
    this.keep(tensor);
    this.#types.set(tensor, dataType);
  }

  #readAttribute(message: WireField) {
    let name = '';
    let integer = 0;
    let tensorType: number | null = null;
    const addTensor = (field: WireField): void => void (tensorType = this.#readTensor(field).dataType);
    const addGraph = (field: WireField): void => void this.readGraph([field]);
    this.#wire.read(message, {
      1: (field) => (name = this.#wire.text(field)),
      3: (field) => (integer = numberOf(field)),
      5: addTensor,
      6: addGraph,
      10: addTensor,
      11: addGraph,
    });
    return { name, integer, tensorType };
  }

  /** A TensorProto. Its values are counted but not read. */
  #readTensor(message: WireField) {
    let name = '';
    let dataType = 0;
    let payloadBytes = 0;
    let isExternal = false;
    const dims: number[] = [];
    const entries = new Map<string, string>();
    const addPayload = (field: WireField): void => {
      payloadBytes += field.kind === 'bytes' ? field.end - field.start : 0;
    };
    this.#wire.read(message, {
      1: (field) => dims.push(...this.#wire.numbers(field)),
      2: (field) => (dataType = numberOf(field)),
      6: addPayload,
      8: (field) => (name = this.#wire.text(field)),
      9: addPayload,
      13: (field) => this.#readEntry(field, entries),
      14: (field) => (isExternal = numberOf(field) === 1),
    });
    const elements = dims.reduce((product, size) => product * Math.max(0, size), 1);
    const bytes = elementsBytes(elementTypeName(dataType), elements) ?? payloadBytes;
    if (!(bytes <= Number.MAX_SAFE_INTEGER)) {
      throw new OnnxFormatError(`a tensor of ${dims.join('x')}: more bytes than there are`);
    }
    const sum = this.#byType.get(dataType) ?? { tensors: 0, bytes: 0 };
    this.#byType.set(dataType, { tensors: sum.tensors + 1, bytes: sum.bytes + bytes });
    if (isExternal) this.#addExternal(entries, bytes);
    else this.#inlineBytes += bytes;
    return { name, dataType };
  }

  /** A StringStringEntryProto. */
  #readEntry(message: WireField, entries: Map<string, string>): void {
    let [key, value] = ['', ''];
    this.#wire.read(message, {
      1: (field) => (key = this.#wire.text(field)),
      2: (field) => (value = this.#wire.text(field)),
    });
    if (['location', 'offset', 'length'].includes(key)) entries.set(key, value);
  }

  #addExternal(entries: ReadonlyMap<string, string>, bytes: number): void {
    const location = entries.get('location') ?? '';
    const end = (wholeNumber(entries.get('offset')) ?? 0) + (wholeNumber(entries.get('length')) ?? bytes);
    const file = this.#files.get(location);
    if (file === undefined) this.keep(location);
    this.#externalBytes += bytes;
    const neededBytes = Math.max(file?.neededBytes ?? 0, end);
    this.#files.set(location, { tensors: (file?.tensors ?? 0) + 1, neededBytes });
  }

  /** A ValueInfoProto: an input or output with its type. */
  #readValueInfo(message: WireField): TensorInfo {
    let name = '';
    let type: Omit<TensorInfo, 'name'> = { elementType: elementTypeName(0), shape: null };
    const others = Object.entries(OTHER_KINDS).map(([number, elementType]) => [
      number,
      () => (type = { elementType, shape: null }),
    ]);
    const readType: FieldReaders = {
      1: (field) => (type = this.#readTensorType(field)),
      ...Object.fromEntries(others),
    };
    this.#wire.read(message, {
      1: (field) => (name = this.#wire.text(field)),
      2: (field) => this.#wire.read(field, readType),
    });
    this.keep(`${name} ${shapeText(type.shape)}`);
    return { name, ...type };
  }

  #readTensorType(message: WireField): Omit<TensorInfo, 'name'> {
    let elementType = elementTypeName(0);
    let shape: OnnxDimension[] | null = null;
    this.#wire.read(message, {
      1: (field) => (elementType = elementTypeName(numberOf(field))),
      2: (field) => {
        const dims: OnnxDimension[] = [];
        shape = dims;
        this.#wire.read(field, { 1: (inner) => this.#addDimension(inner, dims) });
      },
    });
    return { elementType, shape };
  }

  #addDimension(message: WireField, shape: OnnxDimension[]): void {
    if (shape.length >= MAX_DIMENSIONS) throw new OnnxFormatError(`a shape of more than ${MAX_DIMENSIONS} dimensions`);
    let dimension: OnnxDimension = null;
    this.#wire.read(message, {
      // Some exporters write -1 for an unknown size.
      1: (field) => (dimension = numberOf(field) < 0 ? null : numberOf(field)),
      2: (field) => (dimension = this.#wire.text(field) || null),
    });
    shape.push(dimension);
  }
}

/** Kinds of TypeProto other than tensors, by field number. */
const OTHER_KINDS = { 4: 'sequence', 5: 'map', 7: 'opaque', 8: 'sparse tensor', 9: 'optional' } as const;

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
