import { seededRandom } from '../../matrix/plan/order.ts';

/** Lengths in tokens, normally distributed. */
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
 * Requests for trtllm-bench, one JSON object per line, as `generate_text_dataset` in
 * tensorrt_llm/bench/dataset/utils.py of NVIDIA/TensorRT-LLM writes them. Tokens are uniform over the vocabulary. Equal
 * options give equal bytes.
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

/** Rounded up and at least 1, as in NVIDIA's `get_norm_dist_lengths`. */
function lengthOf({ mean, stdev }: TokenLengths, random: () => number): number {
  return Math.max(1, Math.ceil(mean + stdev * normal(random)));
}

/** Standard normal by the Box-Muller transform (1958). */
function normal(random: () => number): number {
  // 1 - random() is never 0, where the logarithm is undefined.
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
