import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { bench, benchWithPeak, ROOT } from './processes.ts';
import { readRecorded, unpackRun } from './recordings.ts';
import { absolute, type Benchmark, type Row } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const FOLDERS = sized(246, 6);
const LOGS = sized(20_000, 80);
const ROUNDS = sized(3, 1);
const MAX_FOLDERS_S = 2;
const MAX_LOGS_S = 30;
const MAX_LOGS_MB = 200;
const NIGHT = join('recordings', 'night1');

/** `bench import` of many runs at once, whole processes: folders with their exports, and logs alone. */
export const importing: Benchmark = {
  name: 'import',
  run: () => inTemporaryFolder(async (folder) => [...(await folders(folder)), ...(await logs(folder))]),
};

async function folders(folder: string): Promise<Row[]> {
  const runs = join(folder, 'runs');
  const recorded = readdirSync(join(ROOT, NIGHT)).filter((name) => name.startsWith('nights_'));
  for (let index = 0; index < FOLDERS; index += 1) {
    const run = join(runs, String(index));
    unpackRun(run, NIGHT, recorded[index % recorded.length] ?? '');
    appendFileSync(join(run, 'stdout.log'), `\n${index}\n`);
  }
  let round = 0;
  const importAll = async (): Promise<number> => {
    round += 1;
    mkdirSync(join(folder, `${round}`));
    const store = join(folder, `${round}`, 'bench.sqlite');
    const { stdout, wallMs } = await bench(['import', runs, '--sweep', 'runs', '--db', store]);
    mustHave(stdout, FOLDERS);
    return wallMs;
  };
  const { ours } = await medianTimesMs({ ours: importAll }, ROUNDS);
  const what = `bench import of ${FOLDERS} run folders with their exports`;
  return [absolute(what, ours / 1000, ' s', { atMost: MAX_FOLDERS_S })];
}

async function logs(folder: string): Promise<Row[]> {
  const files = join(folder, 'files');
  mkdirSync(files, { recursive: true });
  const log = readRecorded(NIGHT, 'nights_1_vit_small.fp16.b8.graph1', 'stdout.log.br').toString('utf8');
  for (let index = 0; index < LOGS; index += 1) writeFileSync(join(files, `${index}.log`), `${log}\n${index}\n`);
  const args = ['import', files, '--db', join(folder, 'bench.sqlite')];
  const { peakMb, stdout, wallMs } = await benchWithPeak(args, folder);
  mustHave(stdout, LOGS);
  const what = `bench import of ${LOGS} logs`;
  return [
    absolute(what, wallMs / 1000, ' s', { atMost: MAX_LOGS_S }),
    absolute(what, peakMb, ' MB', { atMost: MAX_LOGS_MB }),
  ];
}

function mustHave(stdout: string, runs: number): void {
  if (!stdout.includes(`${runs} runs stored`)) throw new Error(`not ${runs} runs were stored:\n${stdout}`);
}
