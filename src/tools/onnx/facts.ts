/** A dimension: its size, the name of a dynamic one, or null for a dynamic one without a name. */
export type OnnxDimension = number | string | null;

export interface OnnxTensorInfo {
  readonly name: string;
  /** `float16`, `int64`, …; `sequence`, `map`, `optional` or `opaque` for what is no tensor. */
  readonly elementType: string;
  /** Null when not even the number of dimensions is stated. */
  readonly shape: readonly OnnxDimension[] | null;
}

export interface OnnxOpset {
  /** Empty for the operators of ONNX itself. */
  readonly domain: string;
  readonly version: number;
}

export interface OnnxOpCount {
  /** Empty for the operators of ONNX itself. */
  readonly domain: string;
  readonly opType: string;
  readonly count: number;
}

/** Weights of one element type: initializers, and tensors that stand in nodes. */
export interface OnnxWeights {
  readonly elementType: string;
  readonly tensors: number;
  readonly bytes: number;
}

/** A file that holds weights of the model. */
export interface OnnxExternalFile {
  /** As the model states it, from the model's folder. */
  readonly location: string;
  readonly tensors: number;
  /** Up to the end of the last tensor in it. */
  readonly neededBytes: number;
}

export interface FoundExternalFile extends OnnxExternalFile {
  /** Null when there is no such file. */
  readonly bytes: number | null;
  /** What keeps it from being used; null when nothing does. */
  readonly problem: string | null;
}

/** What an ONNX model says of itself. Weights are counted, never read. */
export interface OnnxModel {
  readonly irVersion: number;
  /** Name and version of the program that wrote it; empty when it does not say. */
  readonly producer: string;
  readonly opsets: readonly OnnxOpset[];
  /** Without the initializers that old exporters list among the inputs. */
  readonly inputs: readonly OnnxTensorInfo[];
  readonly outputs: readonly OnnxTensorInfo[];
  /** Nodes of the main graph. */
  readonly nodes: number;
  /** Nodes in the graphs of control flow and in functions of the model. */
  readonly nestedNodes: number;
  /** All nodes, nested ones too, the most frequent first. */
  readonly ops: readonly OnnxOpCount[];
  /** Of the main graph. */
  readonly initializers: number;
  readonly inlineBytes: number;
  readonly externalBytes: number;
  readonly weights: readonly OnnxWeights[];
  readonly quantizeNodes: number;
  readonly dequantizeNodes: number;
  /** What they quantize to, by the number of these nodes; `unknown` where the model does not say. */
  readonly quantizedTypes: readonly { readonly elementType: string; readonly nodes: number }[];
  /** Operators that are neither of ONNX, nor functions of the model, nor TensorRT's own: they need a plugin. */
  readonly customOps: readonly OnnxOpCount[];
  /** Operators whose output shape hangs on values, such as NonZero. */
  readonly dataDependentOps: readonly OnnxOpCount[];
  /** Loop, If, Scan. */
  readonly controlFlowOps: readonly OnnxOpCount[];
  readonly externalFiles: readonly OnnxExternalFile[];
}

export interface OnnxFacts extends OnnxModel {
  readonly fileBytes: number;
  readonly externalFiles: readonly FoundExternalFile[];
}

/** Null when the input takes any size there. */
export function fixedSize(dimension: OnnxDimension | undefined): number | null {
  return typeof dimension === 'number' ? dimension : null;
}

/** `[batch, 3, 224, 224]`; `?` for a dimension without a name. */
export function shapeText(shape: readonly OnnxDimension[] | null): string {
  return shape === null ? 'unknown' : `[${shape.map((dimension) => dimension ?? '?').join(', ')}]`;
}

/** Bytes of so many elements, whole ones, as four-bit types are packed; null for types without a size of their own. */
export function elementsBytes(elementType: string, elements: number): number | null {
  const bits = /^(?:u?int|b?float|complex)(\d+)/.exec(elementType)?.[1];
  if (elementType === 'bool') return elements;
  return bits === undefined ? null : Math.ceil((elements * Number(bits)) / 8);
}

/** `NonZero (2), vendor.ops::Plugin (1)` */
export function opCountsText(ops: readonly OnnxOpCount[]): string {
  return ops.map(({ domain, opType, count }) => `${opName(domain, opType)} (${count})`).join(', ');
}

export function opName(domain: string, opType: string): string {
  return domain === '' ? opType : `${domain}::${opType}`;
}
