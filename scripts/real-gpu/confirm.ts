import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkLogs } from './logs.ts';
import { writeMatrix } from './matrices.ts';
import { checkBack, checkQuiet, checkSlower, findingText, GATE, pairLines, writeSlowerResnet } from './referee.ts';
import { type Contender, startContender } from './sharing.ts';
import { NEWEST_SWEEP, type Visit } from './visit.ts';

/** Sweeps before a change. */
const HISTORY = 3;
/** The ResNet with as much more behind its output, about 2 %: other counts than in the visit before, so that it is new. */
const [UNPAIRED, CONTENDED] = [4, 5];

/** Visit B, second half: changes without pairs and larger ones with them, and a machine that is slow. Same folder. */
export async function visitConfirm(visit: Visit): Promise<void> {
  const earlier = visit.engines().length === 0 ? 0 : sweepsOf(visit);
  if (earlier < HISTORY) await visit.part('sweeps without a change', 95, () => checkQuiet(visit, HISTORY, 330));
  else await visit.part('the engines of the visit before', 50, () => checkBack(visit, 2));
  await visit.part('a slower model', 40, () => checkSlower(visit, 'unpaired', UNPAIRED, '--no-confirm'));
  await visit.part('the same engines again', 50, () => checkBack(visit, 2));
  await visit.part('built with level 0', 85, () => checkSlower(visit, 'level', null, '--confirm'));
  await visit.part('the same engines, later', 50, () => checkBack(visit, 2));
  await visit.part('a second process in pairs', 85, () => checkBusyPairs(visit));
  await visit.part('a second process in a sweep', 25, () => checkBusySweep(visit));
  await visit.part('logs', 0, () => checkLogs(visit));
}

function sweepsOf(visit: Visit): number {
  return visit.count(`SELECT count(*) n FROM sweeps WHERE matrix = 'gate' AND state = 'finished'`);
}

/** A second process during the whole sweep and what pairs it has: the engines are not to blame. */
async function checkBusySweep(visit: Visit): Promise<void> {
  const matrix = writeMatrix(visit, { ...GATE, batches: [1, 8] }, 'gate-busy');
  const contender = startContender(visit);
  try {
    await contender.isBusy;
    await visit.bench(['run', matrix, '--confirm', '--filter', 'batch=1 | batch=8']);
  } finally {
    await contender.stop();
  }
  await checkNotBlamed(visit, 0, []);
}

/** A slower model in a quiet sweep, and a second process from its first pair on: these pairs make it no slower. */
async function checkBusyPairs(visit: Visit): Promise<void> {
  const onnx = writeSlowerResnet(visit, CONTENDED);
  const args = ['run', writeMatrix(visit, { ...GATE, changes: { resnet: { onnx } } }, 'gate-contended'), '--confirm'];
  const from = visit.place.clock();
  const child = visit.start(args);
  const contenders: Contender[] = [];
  child.stderr?.on('data', (piece: Buffer) => {
    if (contenders.length === 0 && piece.includes('(pair 1')) contenders.push(startContender(visit));
  });
  const { stderr } = visit.ended(args, from, await child);
  await Promise.all(contenders.map((contender) => contender.stop()));
  visit.check('there were pairs', contenders.length > 0, `${stderr.split('(pair ').length - 1} runs of pairs`);
  const { cells } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  await checkNotBlamed(visit, Math.max(...cells.map(({ changePercent }) => changePercent ?? 0)), pairLines(stderr));
}

/**
 * No engine is called slower because of a second process.
 *
 * @param percent by which the engines are slower without it
 */
async function checkNotBlamed(visit: Visit, percent: number, lines: readonly string[]): Promise<void> {
  const { findings, series } = await visit.json(OUTPUTS.check, ['check']);
  // A sweep that was stopped is not judged, so that check shows what the sweep before it reported.
  const isNewest = `SELECT count(*) n FROM sweeps WHERE sweep_id = ? AND ${NEWEST_SWEEP}`;
  const fresh = findings.filter(
    ({ cause, direction, reportedSweepId }) =>
      visit.count(isNewest, reportedSweepId) > 0 && cause !== 'machine' && direction === 'slower',
  );
  const sizes = fresh.map(({ metrics, pairs }) => pairs?.changePercent ?? metrics[0]?.changePercent ?? 0);
  const { contended, runs } = visit.contended();
  visit.check('runs are called contended', contended > 0, `${contended} of ${runs}`);
  const figure = [
    `${percent.toFixed(2)} % without it`,
    series[0]?.headline ?? '',
    ...findings.map(findingText),
    ...lines,
  ];
  visit.check(
    'the engines are not blamed for it',
    sizes.every((size) => size < percent + 1),
    figure.join('; '),
  );
}
