import { opCountsText, type OnnxFacts } from '../../tools/onnx/facts.ts';

/** The serialized size that protobuf cannot go beyond. */
const PROTOBUF_LIMIT_BYTES = 2 ** 31;

/** What of a model makes a benchmark fail or mislead. */
export function inspectWarnings(facts: OnnxFacts): string[] {
  const { dataDependentOps, controlFlowOps, customOps, externalFiles, fileBytes } = facts;
  return [
    ...(dataDependentOps.length > 0
      ? [
          `${opCountsText(dataDependentOps)}: how much work it is hangs on the values; random inputs mislead, give real ones (inputs: {INPUT: FILE} in a matrix)`,
        ]
      : []),
    ...(controlFlowOps.length > 0
      ? [
          `${opCountsText(controlFlowOps)}: the host decides in between; a CUDA graph is not likely to be captured or to help`,
        ]
      : []),
    ...(customOps.length > 0 ? [`${opCountsText(customOps)}: not of ONNX; TensorRT needs plugins for that`] : []),
    ...externalFiles.flatMap(({ location, problem }) =>
      problem === null ? [] : [`weights in ${location}: ${problem}`],
    ),
    ...(fileBytes >= PROTOBUF_LIMIT_BYTES
      ? ['2 GiB or more: protobuf reads no such file; keep the weights in a file of their own']
      : []),
  ];
}
