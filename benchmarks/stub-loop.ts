import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../src/text/unknown-values.ts';
import { bench, findTool, runProcess, type Tool } from './processes.ts';
import { readRecorded } from './recordings.ts';
import { type Benchmark, needing, type Row, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const RUNS = sized(200, 3);
const ROUNDS = sized(3, 1);
const NIGHT = join('recordings', 'night1');
const RECORDED_RUN = join(NIGHT, 'nights_1_vit_small.fp16.b8.graph1');
const RECORDED_BUILD = join(NIGHT, 'builds_vit_small.fp16');
const FLAGS = [
  '--loadEngine=engine.plan',
  '--shapes=input:8x3x224x224',
  '--warmUp=200',
  '--duration=1',
  '--iterations=10',
  '--useCudaGraph',
  '--useSpinWait',
  '--percentile=50,90,95,99',
  '--exportTimes=times.json',
];

/** What this program costs around each process: many runs of a trtexec that takes no time at all. */
export const stubLoop: Benchmark = { name: 'stub-loop', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const what = `bench run, ${RUNS} runs of a stub`;
  const tools = [findTool('bash'), findTool('jq'), findTool('sqlite3')];
  const against = 'a loop of bash, jq and sqlite3';
  const missing = needing(tools, what, against);
  if (missing !== null) return [missing];
  const stub = unpackStub(folder);
  const sides = { ours: () => ourTimeMs(folder, stub), loop: () => loopTimeMs(folder, stub, tools[0]) };
  const times = await medianTimesMs(sides, ROUNDS);
  return [versus(what, against, [times.ours, times.loop], { atMost: 1 })];
}

interface Stub {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

function unpackStub(folder: string): Stub {
  const answers = join(folder, 'stub');
  mkdirSync(answers);
  for (const [name, ...recorded] of [
    ['timed.log', RECORDED_RUN, 'stdout.log.br'],
    ['times.json', RECORDED_RUN, 'times.json.br'],
    ['build.log', RECORDED_BUILD, 'stdout.log.br'],
    ['layers.json', RECORDED_BUILD, 'layers.json.br'],
    ['help.log', NIGHT, 'help', 'stdout.log.br'],
  ] as const) {
    writeFileSync(join(answers, name), readRecorded(...recorded));
  }
  const path = join(folder, 'trtexec');
  copyFileSync(join(import.meta.dirname, 'stub-trtexec.sh'), path);
  return { path, env: { STUB_FOLDER: answers } };
}

async function ourTimeMs(parent: string, { path, env }: Stub): Promise<number> {
  const folder = mkdtempSync(join(parent, 'ours-'));
  writeFileSync(join(folder, 'model.onnx'), 'a model\n');
  writeFileSync(
    join(folder, 'matrix.yaml'),
    `models:
  vit_small:
    shapes: {input: [batch, 3, 224, 224]}
    precisions: {fp16: {onnx: model.onnx}}
axes: {precision: fp16, batch: 8, cudaGraph: on, dataTransfers: on}
build: {min: {batch: 1}, opt: {batch: 8}, max: {batch: 32}}
run: {warmUpMs: 200, durationS: 1, percentiles: [50, 90, 95, 99]}
repeats: ${RUNS}
`,
  );
  const { wallMs, stdout } = await bench(['run', 'matrix.yaml', '--trtexec', path, '--db', 'bench.sqlite', '--json'], {
    cwd: folder,
    env,
  });
  const report: unknown = JSON.parse(stdout);
  const counts: unknown = isRecord(report) ? report['counts'] : null;
  if (!isRecord(counts) || counts['measured'] !== RUNS) {
    throw new Error(`not every run was measured: ${JSON.stringify(counts)}`);
  }
  return wallMs;
}

async function loopTimeMs(parent: string, { path, env }: Stub, bash: Tool | undefined): Promise<number> {
  const folder = mkdtempSync(join(parent, 'loop-'));
  const script = join(import.meta.dirname, 'stub-loop.sh');
  const { wallMs } = await runProcess(bash?.path ?? 'bash', [script, path, String(RUNS), folder, ...FLAGS], { env });
  return wallMs;
}
