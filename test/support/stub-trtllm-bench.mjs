#!/usr/bin/env node
// Stands in for trtllm-bench in tests: takes the options of tensorrt_llm/commands/bench.py and of
// tensorrt_llm/bench/benchmark/throughput.py (NVIDIA/TensorRT-LLM 1.2.0rc3) and writes the report of the fixture.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';

const REPORT = join(import.meta.dirname, '..', 'fixtures', 'trtllm-bench', 'report.json');
const WITH_VALUE =
  'model model_path workspace engine_dir extra_llm_api_options backend kv_cache_free_gpu_mem_fraction max_seq_len dataset num_requests warmup tp pp ep concurrency beam_width report_json iteration_log max_batch_size max_num_tokens eos_id scheduler_policy';
const options = Object.fromEntries(WITH_VALUE.split(' ').map((name) => [name, { type: 'string' }]));
Object.assign(options, { streaming: { type: 'boolean' }, enable_chunked_context: { type: 'boolean' } });

const { tokens, values } = parseArgs({ options, strict: false, allowPositionals: true, tokens: true });
const unknown = tokens.find(({ kind, name }) => kind === 'option' && !(name in options));
if (unknown !== undefined) {
  process.stderr.write(
    `Usage: trtllm-bench [OPTIONS] COMMAND [ARGS]...\n\nError: No such option: ${unknown.rawName}\n`,
  );
  process.exit(2);
}
readFileSync(values.dataset);
writeFileSync(values.report_json, readFileSync(REPORT));
