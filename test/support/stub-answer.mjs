// What the stand-in for trtexec prints and writes: for a process of its own (stub-trtexec.mjs), or in that of the test.
// Every number is made up. STUB_RULES (JSON) makes it misbehave: [{"when": "text in the command line", "does": ...}].
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** What STUB_RULES say of this command line. */
export function ruleOf({ args, env }) {
  const line = args.join(' ');
  return JSON.parse(env.STUB_RULES ?? '[]').find(({ when }) => line.includes(when))?.does ?? 'well';
}

export function markerOf({ args, env }) {
  return `TensorRT.trtexec [TensorRT v${env.STUB_VERSION ?? '100600'}] [b26] # trtexec ${args.join(' ')}`;
}

const word = (isOn) => (isOn ? 'Enabled' : 'Disabled');

function statistics(value) {
  return `min = ${value} ms, max = ${value} ms, mean = ${value} ms, median = ${value} ms, percentile(99%) = ${value} ms`;
}

/** Whether it does something that only a process of its own can do: it ends by a signal, hangs, or takes some time. */
export function needsProcess(start) {
  const { STUB_DELAY_MS, STUB_WRITE_MS } = start.env;
  return ['crash', 'hangs', 'lasts', 'stubborn'].includes(ruleOf(start)) || [STUB_DELAY_MS, STUB_WRITE_MS].some(Number);
}

/**
 * Prints all but its last line.
 * @param start its arguments, environment and folder
 * @returns the last line and the exit code
 */
export function answer({ args, env, cwd }, { out, err }) {
  const version = env.STUB_VERSION ?? '100600';
  const line = args.join(' ');
  const marker = markerOf({ args, env });
  const rule = ruleOf({ args, env });
  const valueOf = (flag) => args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
  const fileOf = (flag) => resolve(cwd, valueOf(flag) ?? '');

  const say = (text) => out(`[11/21/2026-07:33:53] [I] ${text}\n`);
  const complain = (text) => err(`[11/21/2026-07:33:53] [E] ${text}\n`);

  const on = (flag) => args.includes(flag);

  const sayAll = (...texts) => texts.forEach(say);
  const journal = () => readFileSync(env.STUB_JOURNAL, 'utf8').split('\n');

  function banner() {
    const is11 = version.startsWith('11');
    const hasGraph = is11 ? !on('--noCudaGraph') : on('--useCudaGraph');
    sayAll('=== Model Options ===', 'Format: *', '', '=== Inference Options ===');
    if (valueOf('--shapes')) say(`Input inference shape : ${valueOf('--shapes').replace(/:(?=[\dx]+(,|$))/g, '=')}`);
    sayAll(
      'Iterations: 10',
      `Duration: ${valueOf('--duration') ?? 3}s (+ ${valueOf('--warmUp') ?? 200}ms warm up)`,
      `Inference Streams: ${valueOf('--infStreams') ?? 1}`,
      `Data transfers: ${word(is11 ? on('--includeDataTransfers') : !on('--noDataTransfers'))}`,
      `Spin-wait: ${word(is11 ? !on('--noSpinWait') : on('--useSpinWait'))}`,
      `CUDA Graph: ${word(hasGraph)}`,
      '',
      '=== Device Information ===',
      `Selected Device: ${env.STUB_GPU ?? 'Stub GPU'}`,
      '',
      `TensorRT version: ${version.slice(0, -4)}.${Number(version.slice(-4, -2))}.0`,
    );
    return hasGraph;
  }

  /**
   * STUB_WRITE_MS: so long the file is half of what it will be. STUB_LUCK: a part of what is built is by chance.
   * STUB_ENGINE_FACTOR: every run of the engine takes so many times as long.
   */
  function writeEngine() {
    const path = fileOf('--saveEngine');
    const luck = env.STUB_LUCK === undefined ? '' : ` ${randomUUID()}`;
    const own = line.replace(/--(?:saveEngine|timingCacheFile)=\S+/g, '');
    const factor = env.STUB_ENGINE_FACTOR === undefined ? '' : ` factor ${env.STUB_ENGINE_FACTOR};`;
    const text = `engine of ${own}${factor}${luck}`;
    writeFileSync(path, text.slice(0, text.length / 2));
    const waitMs = Number(env.STUB_WRITE_MS ?? 0);
    if (waitMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
    appendFileSync(path, text.slice(text.length / 2));
  }

  /** As the real one: what is there is kept, what was timed comes behind it. */
  function writeTimingCache() {
    if (!valueOf('--timingCacheFile')) return;
    const path = fileOf('--timingCacheFile');
    if (existsSync(path))
      say(`[TRT] Loaded ${statSync(path).size} bytes of timing cache from ${valueOf('--timingCacheFile')}`);
    writeFileSync(`${path}.lock`, '');
    appendFileSync(path, `times of ${valueOf('--onnx')}\n`);
    say(`[TRT] Saved ${statSync(path).size} bytes of timing cache to ${valueOf('--timingCacheFile')}`);
  }

  function slownessOfEngine() {
    const path = fileOf('--loadEngine');
    const text = existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'utf8') : '';
    return Number(/ factor ([\d.]+);/.exec(text)?.[1] ?? 1);
  }

  function build() {
    sayAll('Engine built in 1.5 sec.', 'Created engine with size: 1.25 MiB');
    if (rule !== 'noEngine') writeEngine();
    writeTimingCache();
    if (valueOf('--exportLayerInfo'))
      writeFileSync(fileOf('--exportLayerInfo'), JSON.stringify({ Layers: ['one', 'two'], Bindings: [] }));
    if (on('--timeRefit')) say('Engine refitted in 2.5 ms.');
    say('Skipped inference phase since --skipInference is added.');
  }

  /** What loading prints, where STUB_LOAD_S says how long it takes. */
  function load() {
    const seconds = env.STUB_LOAD_S;
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
    const { when, percent } = JSON.parse(env.STUB_NOISE ?? '{"when": "", "percent": 0}');
    if (percent === 0 || !line.includes(when)) return 1;
    const bytes = createHash('sha256').update(`noise ${journal().length}`).digest();
    const [u, v] = [0, 4].map((at) => (bytes.readUInt32LE(at) + 1) / 2 ** 32);
    return Math.exp((percent / 100) * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v));
  }

  /**
   * STUB_CONTENDED ({"when": text in the command line, "runs": [1]}): these of its timed runs share the GPU, by the journal.
   */
  function sharesGpu() {
    const { when, runs } = JSON.parse(env.STUB_CONTENDED ?? '{"when": "", "runs": []}');
    if (runs.length === 0 || !line.includes(when)) return false;
    const mine = journal().filter((entry) => entry.includes(when) && entry.includes('--loadEngine'));
    return runs.includes(mine.length);
  }

  /** STUB_SLOW_UNTIL: so many runs after the last build are slow, by the journal. */
  function isEarly() {
    if (env.STUB_SLOW_UNTIL === undefined) return false;
    const entries = journal();
    const built = entries.findLastIndex((entry) => entry.includes('--saveEngine'));
    return entries.slice(built).filter((entry) => entry.includes('--loadEngine')).length <= Number(env.STUB_SLOW_UNTIL);
  }

  /** Times follow from the command line alone, so that every run of a cell is alike but for a known drift. */
  function measure(hasGraph) {
    const batch = Number(/:(\d+)/.exec(valueOf('--shapes') ?? ':1')?.[1] ?? 1);
    const isSlow = (env.STUB_SLOW !== undefined && line.includes(env.STUB_SLOW)) || isEarly();
    const scale = Number(env.STUB_SCALE ?? 1) * noise() * slownessOfEngine() * (isSlow ? 1.05 : 1);
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
      for (const problem of [
        'The built TensorRT engine contains operations that are not permitted under CUDA graph capture mode.',
        'The specified --useCudaGraph flag has been ignored. The inference will be launched without using CUDA graph launch.',
      ])
        out(`[11/21/2026-07:33:53] [W] ${problem}\n`);
    } else if (hasGraph) {
      const graph = 'CUDA graph for the current execution context';
      sayAll(`Capturing ${graph}`, `Successfully captured ${graph}`);
    }
    const totalS = (times.length * median) / 1000;
    sayAll(
      'Warmup completed 100 queries over 200 ms',
      `Timing trace has ${times.length} queries over ${totalS} s`,
      '=== Performance summary ===',
      `Throughput: ${1000 / median} qps`,
      `Latency: ${statistics(median)}`,
      `Enqueue Time: ${statistics(0.01)}`,
      `H2D Latency: ${statistics(0)}`,
      `GPU Compute Time: ${statistics(median)}`,
      `D2H Latency: ${statistics(0)}`,
      `Total Host Walltime: ${totalS} s`,
      `Total GPU Compute Time: ${totalS} s`,
    );
    if (valueOf('--exportTimes') && rule !== 'noTimes') exportTimes(times);
  }

  /** One query after the other, with nothing copied. */
  function exportTimes(times) {
    let end = 0;
    const rows = times.map((computeMs) => {
      const start = end;
      end += computeMs;
      const [h2d, d2h] = [
        { startH2dMs: start, endH2dMs: start },
        { startD2hMs: end, endD2hMs: end },
      ];
      const compute = { startComputeMs: start, endComputeMs: end };
      return { ...h2d, ...compute, ...d2h, h2dMs: 0, computeMs, d2hMs: 0, latencyMs: computeMs };
    });
    writeFileSync(fileOf('--exportTimes'), JSON.stringify(rows));
  }

  function exportProfile() {
    const name = env.STUB_LAYER ?? 'conv1';
    const layer = { name, timeMs: 6.4, averageMs: 0.1, medianMs: 0.1, percentage: 100 };
    writeFileSync(fileOf('--exportProfile'), JSON.stringify([{ count: 64 }, layer]));
    const type = env.STUB_DATATYPE;
    const tensors = [{ Name: 'x', Dimensions: [], 'Format/Datatype': type }];
    const typed = type === undefined ? {} : { Inputs: tensors, Outputs: tensors };
    const info = { Layers: [{ Name: name, LayerType: 'conv', ...typed }], Bindings: [name] };
    writeFileSync(fileOf('--exportLayerInfo'), JSON.stringify(info));
  }

  if (env.STUB_JOURNAL) appendFileSync(resolve(cwd, env.STUB_JOURNAL), `${line}\n`);
  if (args.includes('--help')) {
    out(`&&&& RUNNING TensorRT.trtexec [TensorRT v${version}] [b26] # trtexec --help\n`);
    return { last: '=== Model Options ===\n  --onnx=<file>\n  \n', exitCode: 0 };
  }
  out(`&&&& RUNNING ${marker}\n`);
  if (rule === 'fails' || rule === 'doesNotLoad') {
    if (rule === 'fails') complain('Error Code 1: Cuda Runtime (out of memory)');
    else {
      complain('Engine deserialization failed');
      complain('Got invalid engine!');
    }
    return { last: `&&&& FAILED ${marker}\n`, exitCode: 1 };
  }
  const hasGraph = banner();
  if (args.includes('--getPlanVersionOnly'))
    say(`Plan was created with TensorRT version ${env.STUB_PLAN_VERSION ?? '10.6.0.26'}`);
  else if (args.includes('--skipInference')) build();
  else measure(hasGraph);
  if (valueOf('--exportProfile')) exportProfile();
  return { last: `&&&& PASSED ${marker}\n`, exitCode: 0 };
}
