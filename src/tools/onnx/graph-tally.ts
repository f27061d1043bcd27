import { compareTexts } from '../../text/compare-texts.ts';
import { elementTypeName, type OnnxExternalFile, type OnnxOpCount, type OnnxWeights } from './facts.ts';
import type { TensorHeader } from './tensor.ts';
import { OnnxFormatError } from './wire-reader.ts';

/** Limits for stored names; a model of a hundred thousand tensors has about ten million characters. */
const MAX_KEPT_CHARACTERS = 1 << 26;
const MAX_KEPT_NAMES = 1_000_000;

export class GraphTally {
  private readonly ops = new Map<string, OnnxOpCount>();
  private readonly byType = new Map<number, { tensors: number; bytes: number }>();
  private readonly files = new Map<string, { tensors: number; neededBytes: number }>();
  private readonly types = new Map<string, number>();
  private keptCharacters = 0;
  private keptNames = 0;
  inlineBytes = 0;
  externalBytes = 0;

  addOp(domain: string, opType: string): void {
    const standard = domain === 'ai.onnx' ? '' : domain;
    const key = `${standard}\0${opType}`;
    const known = this.ops.get(key);
    if (known === undefined) this.keep(key);
    this.ops.set(key, { domain: standard, opType, count: (known?.count ?? 0) + 1 });
  }

  addTensor({ dataType, bytes, external }: TensorHeader): void {
    const sum = this.byType.get(dataType) ?? { tensors: 0, bytes: 0 };
    this.byType.set(dataType, { tensors: sum.tensors + 1, bytes: sum.bytes + bytes });
    if (external === null) {
      this.inlineBytes += bytes;
      return;
    }
    this.externalBytes += bytes;
    const file = this.files.get(external.location);
    if (file === undefined) this.keep(external.location);
    this.files.set(external.location, {
      tensors: (file?.tensors ?? 0) + 1,
      neededBytes: Math.max(file?.neededBytes ?? 0, external.end),
    });
  }

  setType(tensor: string, dataType: number): void {
    this.keep(tensor);
    this.types.set(tensor, dataType);
  }

  typeOf(tensor: string): number | undefined {
    return this.types.get(tensor);
  }

  /** @throws OnnxFormatError when there are more names than any model has */
  keep(name: string): void {
    this.keptCharacters += name.length;
    this.keptNames += 1;
    if (this.keptCharacters > MAX_KEPT_CHARACTERS || this.keptNames > MAX_KEPT_NAMES) {
      throw new OnnxFormatError(`more than ${this.keptNames - 1} names: not read any further`);
    }
  }

  /** Most frequent first. */
  opCounts(): OnnxOpCount[] {
    return [...this.ops.values()].toSorted(
      (a, b) => b.count - a.count || compareTexts(a.domain, b.domain) || compareTexts(a.opType, b.opType),
    );
  }

  /** Largest share first. */
  weights(): OnnxWeights[] {
    return [...this.byType]
      .map(([dataType, sum]) => ({ elementType: elementTypeName(dataType), ...sum }))
      .toSorted((a, b) => b.bytes - a.bytes || compareTexts(a.elementType, b.elementType));
  }

  externalFiles(): OnnxExternalFile[] {
    return [...this.files]
      .map(([location, file]) => ({ location, ...file }))
      .toSorted((a, b) => compareTexts(a.location, b.location));
  }
}
