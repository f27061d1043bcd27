import { expect, test } from 'vitest';

import { perfAnalyzerDriver } from '../../../src/harnesses/perf-analyzer.ts';
import { placeWith, plannedCell, readingOf } from '../../support/driver-place.ts';

/** Columns and units as perf_analyzer's documentation shows them; the numbers are made up. */
const HEADER =
  'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency';
const ONE = '1,70.5,200,2100,60,205,11800,20,0,14000,18800,19800,21000';
const FOUR = '4,84.5,280,1600,33700,235,11750,20,1,47000,56500,59200,64900';

const SETTINGS = { kind: 'perf-analyzer', concurrency: 4 };

const read = (csv: string | null) => readingOf(perfAnalyzerDriver, SETTINGS, { 'report.csv': csv });

test('times are microseconds, stored as milliseconds; the median latency comes first', () => {
  const result = read(`${HEADER}\n${FOUR}\n`);
  const reading = { method: { timer: 'wall', inFlight: 4, percentileRule: 'orderStatistic' }, latencyMs: null };
  expect(result).toMatchObject({ kind: 'read', reading });
  expect((result.kind === 'read' ? result.reading.values : []).map(({ metric, value }) => [metric, value])).toEqual([
    ['latencyP50:lower:ms', 47],
    ['inferencesPerS:higher:infer/s', 84.5],
    ['clientSend:lower:ms', 0.28],
    ['networkAndServer:lower:ms', 1.6],
    ['serverQueue:lower:ms', 33.7],
    ['serverComputeInput:lower:ms', 0.235],
    ['serverComputeInfer:lower:ms', 11.75],
    ['serverComputeOutput:lower:ms', 0.02],
    ['clientRecv:lower:ms', 0.001],
    ['latencyP90:lower:ms', 56.5],
    ['latencyP95:lower:ms', 59.2],
    ['latencyP99:lower:ms', 64.9],
  ]);
});

test.each([
  [null, 'report.csv: the process did not write it'],
  ['', 'report.csv: not a complete report of perf-analyzer'],
  [`${HEADER}\n`, 'report.csv: not a complete report of perf-analyzer'],
  [`${HEADER}\n${ONE}\n${FOUR}\n`, 'report.csv: 2 results instead of one'],
  [`${HEADER}\n${ONE.replace('14000', 'x')}\n`, 'report.csv: line 2: not a load with the numbers of perf_analyzer'],
  ['Concurrency,Inferences/Second\n1,70\n', 'report.csv: line 2: not a load with the numbers of perf_analyzer'],
])('a damaged report: %j', (csv, problem) => expect(read(csv)).toEqual({ kind: 'faulty', problem }));

test('each row of a standalone report is a cell of its own', () => {
  const reports = perfAnalyzerDriver.reports(`${HEADER}\n${ONE}\n${FOUR}\n`, 'perf.csv');
  expect(reports.map(({ identity }) => identity)).toEqual([{ concurrency: '1' }, { concurrency: '4' }]);
});

test('its command line writes the report into the folder of the run', () => {
  const settings = { ...SETTINGS, batch: 8, args: ['-i', 'grpc'], serves: 'vit_fp16' };
  const { argv, identity, resultFiles } = plannedCell(perfAnalyzerDriver, settings, placeWith({}));
  const line = 'perf_analyzer -m vit_fp16 -b 8 --concurrency-range=4:4:1 -f {runFolder}/report.csv -i grpc';
  expect([argv.join(' '), identity, resultFiles]).toEqual([line, { concurrency: '4', batch: '8' }, ['report.csv']]);
});
