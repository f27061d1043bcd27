#!/usr/bin/env node
// Stands in for trtexec in tests: takes its command line, prints what it would print and writes what it would write.
// Every number is made up. STUB_RULES (JSON) makes it misbehave: [{"when": "text in the command line", "does": ...}].
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import process from 'node:process';

const args = process.argv.slice(2);
const version = process.env.STUB_VERSION ?? '100600';
const marker = `TensorRT.trtexec [TensorRT v${version}] [b26] # trtexec ${args.join(' ')}`;
const line = args.join(' ');
const rules = JSON.parse(process.env.STUB_RULES ?? '[]');
const rule = rules.find(({ when }) => line.includes(when))?.does ?? 'well';
const valueOf = (flag) => args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);

const say = (text) => process.stdout.write(`[11/21/2026-07:33:53] [I] ${text}\n`);
const complain = (text) => process.stderr.write(`[11/21/2026-07:33:53] [E] ${text}\n`);

const on = (flag) => args.includes(flag);
const word = (isOn) => (isOn ? 'Enabled' : 'Disabled');

function banner() {
  const is11 = version.startsWith('11');
  say('=== Model Options ===');
  say('Format: *');
  say('');
  say('=== Inference Options ===');
  if (valueOf('--shapes')) say(`Input inference shape : ${valueOf('--shapes').replace(/:(?=[\dx]+(,|$))/g, '=')}`);
  say('Iterations: 10');
  say(`Duration: ${valueOf('--duration') ?? 3}s (+ ${valueOf('--warmUp') ?? 200}ms warm up)`);
  say(`Inference Streams: ${valueOf('--infStreams') ?? 1}`);
  say(`Data transfers: ${word(is11 ? on('--includeDataTransfers') : !on('--noDataTransfers'))}`);
  say(`Spin-wait: ${word(is11 ? !on('--noSpinWait') : on('--useSpinWait'))}`);
  say(`CUDA Graph: ${word(is11 ? !on('--noCudaGraph') : on('--useCudaGraph'))}`);
  say('');
  say('=== Device Information ===');
  say('Selected Device: Stub GPU');
  say('');
  say(`TensorRT version: ${version.slice(0, -4)}.${Number(version.slice(-4, -2))}.0`);
  return is11 ? !on('--noCudaGraph') : on('--useCudaGraph');
}

/** STUB_WRITE_MS: so long the file is half of what it will be. STUB_LUCK: a part of what is built is by chance. */
function writeEngine(isUnlucky) {
  const path = valueOf('--saveEngine');
  const luck = process.env.STUB_LUCK === undefined ? '' : ` ${process.pid}`;
  const own = line.replace(/--(?:saveEngine|timingCacheFile)=\S+/g, '');
  const text = `engine of ${own}${luck}${isUnlucky ? UNLUCKY : ''}`;
  writeFileSync(path, text.slice(0, text.length / 2));
  const waitMs = Number(process.env.STUB_WRITE_MS ?? 0);
  if (waitMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
  appendFileSync(path, text.slice(text.length / 2));
}

/** As the real one: what is there is kept, what was timed comes behind it. */
function writeTimingCache() {
  const path = valueOf('--timingCacheFile');
  if (path === undefined) return;
  if (existsSync(path)) say(`[TRT] Loaded ${statSync(path).size} bytes of timing cache from ${path}`);
  writeFileSync(`${path}.lock`, '');
  appendFileSync(path, `times of ${valueOf('--onnx')}\n`);
  say(`[TRT] Saved ${statSync(path).size} bytes of timing cache to ${path}`);
}

/** STUB_UNLUCKY_PERCENT: every second build, by the journal, is so much slower and has another kernel. */
const UNLUCKY = ' with bad luck';
const unluckyPercent = Number(process.env.STUB_UNLUCKY_PERCENT ?? 0);

function buildsByNow() {
  const lines = readFileSync(process.env.STUB_JOURNAL, 'utf8').split('\n');
  return lines.filter((entry) => entry.includes('--saveEngine')).length;
}

function slownessOfEngine() {
  if (unluckyPercent === 0) return 1;
  const isUnlucky = readFileSync(valueOf('--loadEngine'), 'utf8').endsWith(UNLUCKY);
  return isUnlucky ? 1 + unluckyPercent / 100 : 1;
}

function layersOfBuild(isUnlucky) {
  if (unluckyPercent === 0) return ['one', 'two'];
  const TacticName = isUnlucky ? 'sm90_gemm_nn_n' : 'sm90_gemm_tn_n';
  return [
    { Name: 'one', LayerType: 'gemm', TacticName },
    { Name: 'two', LayerType: 'conv', TacticName: 'sm90_conv' },
  ];
}

function build() {
  const isUnlucky = unluckyPercent !== 0 && buildsByNow() % 2 === 0;
  say('Engine built in 1.5 sec.');
  say('Created engine with size: 1.25 MiB');
  if (rule !== 'noEngine') writeEngine(isUnlucky);
  writeTimingCache();
  if (valueOf('--exportLayerInfo'))
    writeFileSync(valueOf('--exportLayerInfo'), JSON.stringify({ Layers: layersOfBuild(isUnlucky), Bindings: [] }));
  if (on('--timeRefit')) say('Engine refitted in 2.5 ms.');
  say('Skipped inference phase since --skipInference is added.');
}

/** What loading prints, where STUB_LOAD_S says how long it takes. */
function load() {
  const seconds = process.env.STUB_LOAD_S;
  if (seconds === undefined) return;
  say(`Engine deserialized in ${on('--asyncFileReader') ? Number(seconds) / 2 : seconds} sec.`);
  if (valueOf('--refitFromOnnx')) say(`Engine successfully refitted from ONNX model ${valueOf('--refitFromOnnx')}`);
  const strategy = valueOf('--allocationStrategy') ?? 'static';
  if (strategy === 'static') say('Created execution context with device memory size: 8 MiB');
  else {
    say('Maximum device memory size across all profiles: 8 MiB');
    const what = strategy === 'profile' ? 'current profile: 6' : 'current input shapes: 1.5';
    say(`Only allocated device memory enough for ${what} MiB`);
  }
}

/**
 * STUB_NOISE ({"when": text in the command line, "percent": standard deviation}) makes runs differ: a number of its own
 * for each line of the journal, the same for the same line.
 */
function noise() {
  const { when, percent } = JSON.parse(process.env.STUB_NOISE ?? '{"when": "", "percent": 0}');
  if (percent === 0 || !line.includes(when)) return 1;
  const place = readFileSync(process.env.STUB_JOURNAL, 'utf8').split('\n').length;
  const bytes = createHash('sha256').update(`noise ${place}`).digest();
  const [u, v] = [0, 4].map((at) => (bytes.readUInt32LE(at) + 1) / 2 ** 32);
  return Math.exp((percent / 100) * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v));
}

/**
 * STUB_CONTENDED ({"when": text in the command line, "runs": [1]}): these of its timed runs share the GPU, by the journal.
 */
function sharesGpu() {
  const { when, runs } = JSON.parse(process.env.STUB_CONTENDED ?? '{"when": "", "runs": []}');
  if (runs.length === 0 || !line.includes(when)) return false;
  const journal = readFileSync(process.env.STUB_JOURNAL, 'utf8').split('\n');
  const mine = journal.filter((entry) => entry.includes(when) && entry.includes('--loadEngine'));
  return runs.includes(mine.length);
}

function statistics(value) {
  return `min = ${value} ms, max = ${value} ms, mean = ${value} ms, median = ${value} ms, percentile(99%) = ${value} ms`;
}

/** Times follow from the command line alone, so that every run of a cell is alike but for a known drift. */
function measure(hasGraph) {
  const batch = Number(/:(\d+)/.exec(valueOf('--shapes') ?? ':1')?.[1] ?? 1);
  const isSlow = process.env.STUB_SLOW !== undefined && line.includes(process.env.STUB_SLOW);
  const scale = Number(process.env.STUB_SCALE ?? 1) * noise() * slownessOfEngine() * (isSlow ? 1.05 : 1);
  const base = (0.5 + 0.1 * batch) * (hasGraph ? 1 : 1.2) * scale;
  const slice = sharesGpu() ? 4 * base : 0;
  const times = Array.from(
    { length: 64 },
    (_, index) => base * (1 + ((index * 37) % 11) / 10_000) + (index % 3 === 0 ? slice : 0),
  );
  const median = times.toSorted((a, b) => a - b)[32];
  load();
  say('Starting inference');
  if (hasGraph && rule === 'noGraph') {
    process.stdout.write(
      '[11/21/2026-07:33:53] [W] The built TensorRT engine contains operations that are not permitted under CUDA graph capture mode.\n',
    );
    process.stdout.write(
      '[11/21/2026-07:33:53] [W] The specified --useCudaGraph flag has been ignored. The inference will be launched without using CUDA graph launch.\n',
    );
  } else if (hasGraph) {
    say('Capturing CUDA graph for the current execution context');
    say('Successfully captured CUDA graph for the current execution context');
  }
  say('Warmup completed 100 queries over 200 ms');
  say(`Timing trace has ${times.length} queries over ${(times.length * median) / 1000} s`);
  say('=== Performance summary ===');
  say(`Throughput: ${1000 / median} qps`);
  say(`Latency: ${statistics(median)}`);
  say(`Enqueue Time: ${statistics(0.01)}`);
  say(`H2D Latency: ${statistics(0)}`);
  say(`GPU Compute Time: ${statistics(median)}`);
  say(`D2H Latency: ${statistics(0)}`);
  say(`Total Host Walltime: ${(times.length * median) / 1000} s`);
  say(`Total GPU Compute Time: ${(times.length * median) / 1000} s`);
  const path = valueOf('--exportTimes');
  if (path && rule !== 'noTimes') {
    let start = 0;
    const rows = times.map((computeMs) => {
      const row = {
        startH2dMs: start,
        endH2dMs: start,
        startComputeMs: start,
        endComputeMs: start + computeMs,
        startD2hMs: start + computeMs,
        endD2hMs: start + computeMs,
        h2dMs: 0,
        computeMs,
        d2hMs: 0,
        latencyMs: computeMs,
      };
      start += computeMs;
      return row;
    });
    writeFileSync(path, JSON.stringify(rows));
  }
}

function exportProfile() {
  const name = process.env.STUB_LAYER ?? 'conv1';
  const layer = { name, timeMs: 6.4, averageMs: 0.1, medianMs: 0.1, percentage: 100 };
  writeFileSync(valueOf('--exportProfile'), JSON.stringify([{ count: 64 }, layer]));
  writeFileSync(
    valueOf('--exportLayerInfo'),
    JSON.stringify({ Layers: [{ Name: name, LayerType: 'conv' }], Bindings: [name] }),
  );
}

/** Ends by itself long after every test is over. */
function wait() {
  setTimeout(() => process.exit(9), 120_000);
}

if (process.env.STUB_JOURNAL) appendFileSync(process.env.STUB_JOURNAL, `${line}\n`);
if (args.includes('--help')) {
  process.stdout.write(
    `&&&& RUNNING TensorRT.trtexec [TensorRT v${version}] [b26] # trtexec --help\n=== Model Options ===\n  --onnx=<file>\n  ${process.env.STUB_HELP ?? ''}\n`,
  );
} else if (rule === 'crash') {
  process.stdout.write(`&&&& RUNNING ${marker}\n`);
  complain('[TRT] Cuda failure: out of memory');
  process.kill(process.pid, 'SIGABRT');
} else if (rule === 'fails') {
  process.stdout.write(`&&&& RUNNING ${marker}\n`);
  complain('Error Code 1: Cuda Runtime (out of memory)');
  process.stdout.write(`&&&& FAILED ${marker}\n`);
  process.exitCode = 1;
} else if (rule === 'doesNotLoad') {
  process.stdout.write(`&&&& RUNNING ${marker}\n`);
  complain('Engine deserialization failed');
  complain('Got invalid engine!');
  process.stdout.write(`&&&& FAILED ${marker}\n`);
  process.exitCode = 1;
} else if (rule === 'hangs' || rule === 'stubborn') {
  process.stdout.write(`&&&& RUNNING ${marker}\n`);
  if (rule === 'stubborn') for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
  // A child of its own, as a plugin or a wrapper script might start: it must not outlive the run.
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 120000)'], { stdio: 'ignore' });
  if (process.env.STUB_PIDS) appendFileSync(process.env.STUB_PIDS, `${process.pid}\n${child.pid}\n`);
  wait();
} else {
  process.stdout.write(`&&&& RUNNING ${marker}\n`);
  const hasGraph = banner();
  if (args.includes('--getPlanVersionOnly'))
    say(`Plan was created with TensorRT version ${process.env.STUB_PLAN_VERSION ?? '10.6.0.26'}`);
  else if (args.includes('--skipInference')) build();
  else measure(hasGraph);
  if (valueOf('--exportProfile')) exportProfile();
  const delay = Number(process.env.STUB_DELAY_MS ?? 0);
  setTimeout(() => process.stdout.write(`&&&& PASSED ${marker}\n`), delay);
}
