/** How far the outputs of a variant are from those of its reference, on the same inputs. */
export interface Accuracy {
  /** Signal to quantization noise ratio of the worst output, in dB; null when outputs are equal to the last bit. */
  readonly sqnrDb: number | null;
  /** Of the worst sample. */
  readonly cosineMin: number;
  readonly cosineMean: number;
  readonly maxAbsError: number;
  /** Share of samples with the same largest value; null where no output is a list of classes. */
  readonly top1Agreement: number | null;
  readonly samples: number;
  /** The user's own number for the variant, and the command that printed it. */
  readonly customValue: number | null;
  readonly customName: string | null;
}
