import { seededRandom } from '../../matrix/plan/order.ts';

/** Lengths in tokens, as a normal distribution. */
interface TokenLengths {
  readonly mean: number;
  readonly stdev: number;
}

export interface TokenDatasetOptions {
  readonly requests: number;
  readonly input: TokenLengths;
  readonly output: TokenLengths;
  readonly vocabSize: number;
  readonly seed: number;
}

/**
 * Requests for trtllm-bench, one JSON object a line, as `generate_text_dataset` in tensorrt_llm/bench/dataset/utils.py
 * of NVIDIA/TensorRT-LLM writes them. Tokens are drawn evenly from the whole vocabulary. The same options give the
 * same bytes.
 */
export function* tokenDataset(options: TokenDatasetOptions): Generator<string> {
  const random = seededRandom(options.seed);
  for (let request = 0; request < options.requests; request += 1) {
    const inputTokens = lengthOf(options.input, random);
    const outputTokens = lengthOf(options.output, random);
    const ids = Array.from({ length: inputTokens }, () => Math.floor(random() * options.vocabSize));
    yield `{"task_id":${request},"input_ids":[${ids.join(',')}],"output_tokens":${outputTokens}}\n`;
  }
}

/** Rounded up and no less than 1, as NVIDIA's `get_norm_dist_lengths` does. */
function lengthOf({ mean, stdev }: TokenLengths, random: () => number): number {
  return Math.max(1, Math.ceil(mean + stdev * normal(random)));
}

/** Standard normal, by Box and Muller (1958): two even numbers make one. */
function normal(random: () => number): number {
  // 1 - random() is never 0, of which there is no logarithm.
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
