#!/usr/bin/env node
// Stands in for trtllm-bench in tests: takes its command line and writes the report that it would write. Every number
// is made up. Follows NVIDIA/TensorRT-LLM 1.2.0rc3: options as in tensorrt_llm/commands/bench.py and
// tensorrt_llm/bench/benchmark/{throughput,low_latency}.py, the report as in get_statistics_dict of
// tensorrt_llm/bench/dataclasses/reporting.py, percentiles as in statistics.py beside it.
// STUB_WITHOUT=performance.request_throughput_req_s leaves a field out; STUB_FAIL=text ends it with this last line.
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

const BOTH = {
  '--engine_dir': 'text',
  '--extra_llm_api_options': 'text',
  '--backend': 'text',
  '--kv_cache_free_gpu_mem_fraction': 'text',
  '--max_seq_len': 'text',
  '--dataset': 'text',
  '--num_requests': 'text',
  '--warmup': 'text',
  '--tp': 'text',
  '--pp': 'text',
  '--ep': 'text',
  '--concurrency': 'text',
  '--beam_width': 'text',
  '--report_json': 'text',
  '--iteration_log': 'text',
};
const OPTIONS = {
  throughput: {
    ...BOTH,
    '--max_batch_size': 'text',
    '--max_num_tokens': 'text',
    '--eos_id': 'text',
    '--streaming': 'switch',
    '--enable_chunked_context': 'switch',
    '--scheduler_policy': 'text',
  },
  latency: { ...BOTH, '--medusa_choices': 'text' },
};
const TOP = { '--model': 'text', '--model_path': 'text', '--workspace': 'text' };

function refuse(message) {
  process.stderr.write(`Usage: trtllm-bench [OPTIONS] COMMAND [ARGS]...\n\nError: ${message}\n`);
  process.exit(2);
}

const args = process.argv.slice(2);

function takeOptions(known) {
  const taken = {};
  while (args.length > 0 && args[0].startsWith('--')) {
    const name = args.shift();
    if (known[name] === undefined) refuse(`No such option: ${name}`);
    taken[name] = known[name] === 'switch' ? true : args.shift();
  }
  return taken;
}

const top = takeOptions(TOP);
if (top['--model'] === undefined) refuse("Missing option '--model' / '-m'.");
const mode = args.shift();
if (OPTIONS[mode] === undefined) refuse(`No such command '${mode}'.`);
const requested = takeOptions(OPTIONS[mode]);
if (args.length > 0) refuse(`Got unexpected extra argument (${args[0]})`);

process.stdout.write(`[TensorRT-LLM][INFO] stub of trtllm-bench, mode ${mode}\n`);
if (process.env.STUB_FAIL !== undefined) {
  process.stderr.write(`Traceback (most recent call last):\n${process.env.STUB_FAIL}\n`);
  process.exit(1);
}

const cap = Number(requested['--num_requests'] ?? 0);
const lines = readFileSync(requested['--dataset'], 'utf8').trimEnd().split('\n').map(JSON.parse);
const requests = (cap > 0 ? lines.slice(0, cap) : lines).map((line, place) => {
  const ttftNs = 20e6 + 1e6 * (place % 7);
  const tpotNs = 5e6 + 0.1e6 * (place % 5);
  const output = line.output_tokens;
  return { input: line.input_ids.length, output, ttftNs, tpotNs, latencyNs: ttftNs + tpotNs * (output - 1) };
});

const sum = (values) => values.reduce((total, value) => total + value, 0);
function percentiles(values, scale) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.trunc(sorted.length * share)] * scale;
  return {
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    minimum: sorted[0] * scale,
    maximum: sorted.at(-1) * scale,
    average: (sum(values) / values.length) * scale,
  };
}

const MS = 1e-6;
const concurrency = Number(requested['--concurrency'] ?? (mode === 'latency' ? 1 : -1));
const workers = concurrency > 0 ? concurrency : requests.length;
const latencies = requests.map(({ latencyNs }) => latencyNs);
const totalNs = sum(latencies) / workers;
const outputTokens = sum(requests.map(({ output }) => output));
const inputTokens = sum(requests.map(({ input }) => input));
const tp = Number(requested['--tp'] ?? 1);
const pp = Number(requested['--pp'] ?? 1);
const backend = requested['--backend'] ?? 'pytorch';
const generated = requests.map(({ tpotNs }) => 1 / tpotNs);

const report = {
  engine: {
    model: top['--model'],
    model_path: top['--model_path'] ?? 'None',
    engine_dir: requested['--engine_dir'] ?? 'None',
    version: '1.2.0rc3',
    backend: backend === 'tensorrt' ? 'TRT' : 'Pytorch',
    dtype: 'bfloat16',
    kv_cache_dtype: null,
    quantization: null,
  },
  machine: { name: 'Stub GPU', 'memory.total': 139.8, 'clocks.mem': 3.201 },
  world_info: {
    tp_size: tp,
    pp_size: pp,
    ep_size: -1,
    world_size: tp * pp,
    max_batch_size: mode === 'latency' ? 1 : 2048,
    max_num_tokens: 8192,
    scheduling_policy: 'GUARANTEED_NO_EVICT',
    kv_cache_percentage: 0.9,
    issue_rate: 100_000,
  },
  request_info: {
    num_requests: requests.length,
    avg_num_concurrent_requests: workers,
    avg_input_length: inputTokens / requests.length,
    avg_output_length: outputTokens / requests.length,
  },
  performance: {
    total_latency_ms: totalNs * MS,
    avg_request_latency_ms: (sum(latencies) / requests.length) * MS,
    request_throughput_req_s: (requests.length / totalNs) * 1e9,
    system_output_throughput_tok_s: (outputTokens / totalNs) * 1e9,
    system_total_throughput_tok_s: ((inputTokens + outputTokens) / totalNs) * 1e9,
    output_throughput_per_user_tok_s:
      (sum(requests.map(({ latencyNs, output }) => output / latencyNs)) / requests.length) * 1e9,
    output_throughput_per_gpu_tok_s: ((outputTokens / totalNs) * 1e9) / (tp * pp),
    request_latency_percentiles_ms: percentiles(latencies, MS),
  },
  ...(mode === 'latency' || requested['--streaming'] === true
    ? {
        streaming_metrics: {
          token_output_speed_tok_s: (sum(generated) / generated.length) * 1e9,
          avg_ttft_ms: (sum(requests.map(({ ttftNs }) => ttftNs)) / requests.length) * MS,
          avg_tpot_ms: (sum(requests.map(({ tpotNs }) => tpotNs)) / requests.length) * MS,
          tpot_percentiles: percentiles(
            requests.map(({ tpotNs }) => tpotNs),
            MS,
          ),
          ttft_percentiles: percentiles(
            requests.map(({ ttftNs }) => ttftNs),
            MS,
          ),
          gen_tps_percentiles: percentiles(generated, 1e9),
        },
      }
    : {}),
  dataset: { num_requests: requests.length, dataset_path: requested['--dataset'] },
};

const left = (process.env.STUB_WITHOUT ?? '').split('.');
const block = left.slice(0, -1).reduce((value, step) => value?.[step], report);
if (block !== undefined) delete block[left.at(-1)];
writeFileSync(requested['--report_json'], `${JSON.stringify(report, null, 4)}\n`);
