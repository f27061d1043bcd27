/** What a factor other than a commit sets on one side; what is not named stays as it is. */
export interface FactorSetting {
  readonly trtexec?: string | undefined;
  readonly replay?: string | undefined;
  readonly matrix?: string | undefined;
  /** An ONNX file in place of the matrix's own. */
  readonly model?: string | undefined;
  /** The timing cache that the build begins with; null for an empty one. */
  readonly timingCache?: string | null | undefined;
  /** Null takes a variable away. */
  readonly env?: Readonly<Record<string, string | null>> | undefined;
  /** A command to run before every build and run; no words for none. */
  readonly before?: readonly string[] | undefined;
}
