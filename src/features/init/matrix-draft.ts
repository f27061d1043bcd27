import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import type { InitOutput } from './output.ts';
import type { Precision } from '../../records/cell.ts';

export interface FoundModel {
  /** Relative to the folder of the matrix, with slashes. */
  readonly path: string;
  readonly facts: OnnxFacts;
}

export type SkippedFile = InitOutput['skipped'][number];

export type DraftDimension = InitOutput['models'][number]['dimensions'][number];

export interface DraftPrecision {
  readonly precision: Precision;
  /** What is behind its name in the file: a word, or an ONNX file that has it. */
  readonly source:
    | { readonly kind: 'word'; readonly word: 'onnx' | 'flag' | 'autocast' | 'modelopt' }
    | { readonly kind: 'file'; readonly path: string };
  readonly why: string;
}

export interface DraftModel {
  readonly name: string;
  /** Null when only files of its precisions exist. */
  readonly onnx: string | null;
  /** Of the base model, else of the first variant. */
  readonly facts: OnnxFacts;
  /** Run shapes by input; null for a model without open dimensions. */
  readonly shapes: Readonly<Record<string, readonly (number | string)[]>> | null;
  readonly dimensions: readonly DraftDimension[];
  readonly precisions: readonly DraftPrecision[];
  readonly others: readonly DraftPrecision[];
  readonly remarks: readonly string[];
  /** False where graph capture would fail. */
  readonly cudaGraph: boolean;
}

export interface MatrixDraft {
  readonly schema: string;
  readonly found: readonly string[];
  /** Written into the file when a flag named it; null when it is found by itself. */
  readonly trtexec: string | null;
  readonly models: readonly DraftModel[];
  readonly skipped: readonly SkippedFile[];
}
