import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { isRecord } from '../src/text/unknown-values.ts';
import { STUB } from '../test/support/stub.ts';
import { bench, ROOT } from './processes.ts';
import { readRecorded } from './recordings.ts';
import type { Benchmark, Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { seconds } from './timing.ts';
import { sized } from './size.ts';

const NIGHT = join('recordings', 'night1');
const MODELS = ['vit_small', 'vit_base'];
const PRECISIONS = ['fp16', 'fp8'];
const BATCHES = sized([1, 8, 32], [1]);
const GRAPHS = ['on', 'off'];
const STREAMS = sized([1, 2, 4], [1]);
const ENGINES = MODELS.length * PRECISIONS.length;
const CELLS = ENGINES * BATCHES.length * GRAPHS.length * STREAMS.length;
/** A build of which every tactic stands in a timing cache still takes so long (recorded, another model). */
const CACHED_BUILD = join('test', 'fixtures', 'trtexec', 'formats', 'timing-cache-hit');

/** What it saves that cells share engines: how many are built, and what trtexec would take in all. */
export const engineSharing: Benchmark = { name: 'engine-sharing', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const builds = await buildsOfTwoAtOnce(folder);
  const recorded = recordedEngines();
  const all = `${CELLS} cells, streams ${STREAMS.join(', ')} as long as 1`;
  return [
    {
      kind: 'measured',
      what: `builds of two \`bench run\` at once, ${CELLS} cells each`,
      against: 'different engines',
      ratio: builds / ENGINES,
      unit: '×',
      target: { atMost: 1 },
      ours: String(builds),
      theirs: String(ENGINES),
    },
    row(all, recorded, STREAMS.length, null, 0.2),
    row(`the ${CELLS / STREAMS.length} recorded cells`, recorded, 1, null, null),
    row(all, recorded, STREAMS.length, wallS(CACHED_BUILD), null),
  ];
}

/** Processes that were started to build, by the stub's journal; every run of every cell must be measured. */
async function buildsOfTwoAtOnce(folder: string): Promise<number> {
  const journal = join(folder, 'journal');
  writeFileSync(join(folder, 'matrix.yaml'), matrixText(folder));
  const args = ['run', 'matrix.yaml', '--trtexec', STUB, '--db', 'bench.sqlite', '--no-telemetry'];
  const env = { STUB_JOURNAL: journal, STUB_WRITE_MS: '300' };
  const reports = await Promise.all([1, 2].map(() => bench([...args, '--json'], { cwd: folder, env })));
  for (const { stdout } of reports) {
    const report: unknown = JSON.parse(stdout);
    const counts: unknown = isRecord(report) ? report['counts'] : null;
    if (!isRecord(counts) || counts['measured'] !== CELLS) {
      throw new Error(`not every cell was measured: ${JSON.stringify(counts)}`);
    }
  }
  const lines = readFileSync(journal, 'utf8').split('\n');
  return lines.filter((line) => line.includes('--saveEngine=')).length;
}

function matrixText(folder: string): string {
  const models = MODELS.map((model) => {
    const files = PRECISIONS.map((precision) => {
      const file = `${model}_${precision}.onnx`;
      writeFileSync(join(folder, file), `a model: ${file}\n`);
      return `${precision}: {onnx: ${file}}`;
    });
    return `  ${model}: {shapes: {input: [batch, 3, 224, 224]}, precisions: {${files.join(', ')}}}`;
  });
  return `models:
${models.join('\n')}
axes: {precision: [${PRECISIONS.join(', ')}], batch: [${BATCHES.join(', ')}], cudaGraph: [${GRAPHS.join(', ')}], streams: [${STREAMS.join(', ')}]}
build: {min: {batch: 1}, opt: {batch: 8}, max: {batch: 32}}
repeats: 1
`;
}

interface RecordedEngine {
  readonly buildS: number;
  readonly runs: readonly RecordedRun[];
}

interface RecordedRun {
  /** Of the whole process that loads the engine. */
  readonly wallS: number;
  /** Of its warm-up and its timed part only: what one process for everything takes on top of the build. */
  readonly timedS: number;
}

function recordedEngines(): RecordedEngine[] {
  return MODELS.flatMap((model) =>
    PRECISIONS.map((precision) => ({
      buildS: wallS(join(NIGHT, `builds_${model}.${precision}`)),
      runs: BATCHES.flatMap((batch) =>
        GRAPHS.map((graph): RecordedRun => {
          const name = `${model}.${precision}.b${batch}.graph${graph === 'on' ? 1 : 0}`;
          const run = join(NIGHT, `nights_1_${name}`);
          return { wallS: wallS(run), timedS: timedS(run) };
        }),
      ),
    })),
  );
}

/**
 * @param times how often each recorded run counts
 * @param cachedBuildS null: every process builds as the recorded build did; else only the first of each engine does
 */
function row(
  what: string,
  engines: readonly RecordedEngine[],
  times: number,
  cachedBuildS: number | null,
  atMost: number | null,
): Row {
  let shared = 0;
  let alone = 0;
  for (const { buildS, runs } of engines) {
    shared += buildS;
    alone += cachedBuildS === null ? 0 : buildS - cachedBuildS;
    for (const run of runs) {
      shared += times * run.wallS;
      alone += times * ((cachedBuildS ?? buildS) + run.timedS);
    }
  }
  return {
    kind: 'measured',
    what: `trtexec in all, ${what}`,
    against: `a process with a build for each cell${cachedBuildS === null ? '' : ', all with one timing cache'}`,
    ratio: shared / alone,
    unit: '×',
    target: atMost === null ? null : { atMost },
    ours: seconds(1000 * shared),
    theirs: seconds(1000 * alone),
  };
}

function wallS(folder: string): number {
  const manifest: unknown = JSON.parse(readFileSync(join(ROOT, folder, 'run.json'), 'utf8'));
  const found: unknown = isRecord(manifest) ? manifest['wall_s'] : null;
  if (typeof found !== 'number') throw new Error(`${basename(folder)}: no wall_s`);
  return found;
}

function timedS(folder: string): number {
  const log = readRecorded(folder, 'stdout.log.br').toString('utf8');
  const warmUpMs = Number(/Warmup completed \d+ queries over (\d+) ms/.exec(log)?.[1]);
  const hostS = Number(/Total Host Walltime: ([\d.]+) s/.exec(log)?.[1]);
  if (Number.isNaN(warmUpMs + hostS)) throw new Error(`${basename(folder)}: no times in its log`);
  return warmUpMs / 1000 + hostS;
}
