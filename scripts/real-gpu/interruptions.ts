import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { processFiles } from '../../benchmarks/processes.ts';
import { writeMatrix } from './matrices.ts';
import { type Ended, NEWEST_SWEEP, type Visit } from './visit.ts';

/** Runs of the matrix that is interrupted. */
const RUNS = 4;

/** Runs of the newest sweep that have a result. */
const MEASURED = `SELECT count(*) n FROM runs WHERE role = 'timed' AND outcome = 'measured' AND ${NEWEST_SWEEP}`;

/** Ctrl-C and SIGKILL during a build and during a run: what is left, and what --resume makes of it. */
export async function checkInterruptions(visit: Visit): Promise<void> {
  for (const [signal, optBatch] of [
    ['SIGINT', 2],
    ['SIGKILL', 4],
  ] as const) {
    // Tuned for a batch that nothing else here is tuned for, so that each really builds.
    const name = `ended-${signal}`.toLowerCase();
    const options = { name, models: ['resnet'], batches: [1, 8], repeats: RUNS / 2, level: 0, optBatch };
    const matrix = writeMatrix(visit, options);
    await checkOne(visit, matrix, signal, 'build');
    await checkOne(visit, matrix, signal, 'run');
  }
}

async function checkOne(
  visit: Visit,
  matrix: string,
  signal: 'SIGINT' | 'SIGKILL',
  during: 'build' | 'run',
): Promise<void> {
  const ended = await interrupt(visit, ['run', matrix], signal, during);
  const what = `${signal} during a ${during}`;
  if (signal === 'SIGINT') {
    const left = processesOf(visit.place.trtexec);
    const says = ended.stderr.includes('--resume');
    const figure = `exit code ${ended.code}, ${left} trtexec left, --resume ${says ? '' : 'not '}named`;
    visit.check(`${what} ends it`, ended.code === 130 && left === 0 && says, figure);
  }
  const before = visit.count(MEASURED);
  const resumed = await visit.bench(['run', '--resume']);
  const after = visit.count(MEASURED);
  const wasMeant = during === 'build' ? before === 0 : before > 0 && before < RUNS;
  visit.check(
    `${what}: --resume finishes it`,
    resumed.code === 0 && wasMeant && after === RUNS,
    `exit code ${resumed.code}, ${before} and then ${after} of ${RUNS} runs`,
  );
}

/** Starts a run, and sends the signal in the middle of its build or after its first run. */
async function interrupt(
  visit: Visit,
  args: readonly string[],
  signal: NodeJS.Signals,
  during: 'build' | 'run',
): Promise<Ended> {
  const from = visit.place.clock();
  const child = visit.start(args);
  let stderr = '';
  child.stderr?.on('data', (piece: Buffer) => {
    stderr += piece.toString();
  });
  const isThere = (): boolean =>
    during === 'build' ? processesOf(visit.place.trtexec) > 0 : /\[ ?1\/ ?\d+\]/.test(stderr);
  while (!isThere() && visit.place.clock() - from < 120) {
    await sleep(20);
  }
  // In the middle, not at the start: a builder takes seconds.
  await sleep(during === 'build' ? 3000 : 400);
  child.kill(signal);
  return visit.ended(args, from, await child);
}

/** Measuring processes of this program on this machine. */
function processesOf(trtexec: string): number {
  return processFiles('cmdline').filter(({ text }) => {
    const argv = text.split('\0');
    const isProgram = argv.some((arg) => basename(arg) === basename(trtexec));
    return isProgram && argv.some((arg) => /^--(?:onnx|loadEngine)=/.test(arg));
  }).length;
}
