import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { array, assert, double, infiniteStream, property } from 'fast-check';
import { describe, expect, test } from 'vitest';

import { torchTensorrtDriver } from '../../../src/harnesses/torch-tensorrt.ts';
import { KNOWN_VARIABLES, storedVariables } from '../../../src/process/environment-variables.ts';
import type { RunFlag } from '../../../src/records/outcome.ts';
import type { RunTelemetry } from '../../../src/records/telemetry.ts';
import { isSecretName } from '../../../src/text/redact.ts';
import { findFlags, marked, singleOutlier } from '../../../src/trtexec/fitness/find-flags.ts';
import { factsOf, NO_TELEMETRY, queriesOf, syntheticLog } from '../../support/fitness-facts.ts';
import { GUIDE } from '../../support/recordings.ts';
import { judged as judgedRun } from '../../support/whole-files.ts';

const flagsOf = (computeMs: readonly number[], gapsMs: readonly number[] = []): RunFlag[] =>
  findFlags(factsOf(syntheticLog(), queriesOf(computeMs, gapsMs)));

const named = (flags: readonly RunFlag[]): string[] => flags.map(({ id, effect }) => `${id} ${effect}`);

/** Between 1 and 1.02, never the same twice. */
const wobble = (query: number): number => 1 + 0.02 * ((query * 0.618_033_988_749_895) % 1);
const series = (count: number, of: (query: number) => number): number[] =>
  Array.from({ length: count }, (_, query) => of(query) * wobble(query));

test('a quiet run has no flag', () => expect(flagsOf(series(500, () => 1))).toEqual([]));

test('AT-21: 500 queries a second of 1 ms each, enqueued in 1.9 ms', () => {
  const options = ['Inference Streams: 1', 'CUDA Graph: Disabled'];
  const facts = factsOf(syntheticLog({ throughputQps: 500, enqueueMs: 1.9, options }));
  expect(facts.derived).toMatchObject({ gpuBusy: 0.5, enqueueClass: 'bound', idleGapMs: 1 });
  const evidence = 'GPU idle 50 % of the time, enqueue takes 1.90 times the GPU time';
  expect(findFlags(facts)).toEqual([{ id: 'hostBound', effect: 'explained', value: 0.5, evidence }]);
});

describe('contended', () => {
  test('every tenth query waits for a time slice', () => {
    const flags = flagsOf(series(500, (query) => (query % 10 === 0 ? 8 : 1)));
    expect([named(flags), flags[0]?.value]).toEqual([['contended excluded'], expect.closeTo(71.3, 1)]);
  });

  test('one very slow query is none', () => {
    expect(flagsOf(series(500, (query) => (query === 77 ? 400 : 1)))).toEqual([]);
  });

  test('in a summary, low times of a tenth of the queries are some, and one low time is none', () => {
    const log = syntheticLog({ throughputQps: 950, computeMs: 1.045 });
    const low = (meanMs: number) =>
      log.replace(/(Compute Time: min = )1\.045(.*) mean = 1\.045/, `$10.3$2 mean = ${meanMs}`);
    const found = [1.0442, 0.97].map((meanMs) => named(findFlags(factsOf(low(meanMs)))));
    expect(found).toEqual([[], ['contended excluded']]);
  });
});

test('a run that gets 15 % slower to its end is drifting, one that gets 3 % slower is not', () => {
  const flags = flagsOf(series(400, (query) => 1 + (0.15 * query) / 400));
  expect([named(flags), flags[0]?.value]).toEqual([['drifting widened'], expect.closeTo(11.1, 0)]);
  expect(flags[0]?.evidence).toMatch(/^the last quarter of the queries is 11\.\d % slower/);
  expect(flagsOf(series(400, (query) => 1 + (0.03 * query) / 400))).toEqual([]);
});

describe('two levels that come and go', () => {
  const levels = (slow: number) => series(400, (query) => (query % 20 < slow ? 1.2 : 1));

  test('their median is of one level, if fewer than 40 % or more than 60 % of the queries are of it', () => {
    const [flag, ...others] = flagsOf(levels(7));
    expect(others).toEqual([]);
    expect(flag).toMatchObject({ id: 'bimodal', effect: 'explained', value: expect.closeTo(20, 0) });
    expect(flag?.evidence).toMatch(/^65 % of queries at 1\.01 ms, the others at 1\.21 ms$/);
    expect(named(flagsOf(levels(11)))).toEqual(['bimodal widened']);
  });

  test('a mean of the samples lies between them: there is no center', () => {
    for (const slow of [7, 11, 15]) {
      const { derived } = factsOf(syntheticLog(), queriesOf(levels(slow)));
      expect(derived).toMatchObject({ gpuComputeCentreMs: null, latencyCentreMs: null });
    }
    const { derived } = factsOf(syntheticLog(), queriesOf(levels(0)));
    expect(derived.gpuComputeCentreMs).toBeCloseTo(1.007, 3);
  });
});

describe('a timer with steps', () => {
  const onGrid = (step: number): number[] => series(600, () => 1).map((ms) => Math.round(ms / step) * step);

  test('told from 0.2 % of the median on', () => {
    const flags = flagsOf(onGrid(0.004));
    expect([named(flags), flags[0]?.value]).toEqual([['coarseTimer widened'], expect.closeTo(0.396, 2)]);
    expect(flags[0]?.evidence).toBe("the timer's step of 4 µs is 0.40 % of the median");
    expect(flagsOf(onGrid(0.001))).toEqual([]);
  });

  test('by the length of the run where the queries are not known: float32 at 17 minutes', () => {
    const long = syntheticLog().replace('Walltime: 1 s', 'Walltime: 600 s');
    const [flag] = findFlags(factsOf(long.replace(/Total GPU Compute Time: .* s/, 'Total GPU Compute Time: 599 s')));
    // 2 ** 19 ms to 2 ** 20 ms: a step of 2 ** -4 ms.
    expect(flag).toMatchObject({ id: 'coarseTimer', value: 6.25 });
  });
});

test.each([
  ['a few long stalls are a host without CPUs', (at: number) => (at % 25 === 0 ? 20 : 0.003), ['hostBound widened']],
  ['the same gap after every query belongs to the cell', () => 0.8, []],
])('%s', (_, gapMs, expected) => {
  const quiet = series(500, () => 1);
  const gaps = quiet.map((_ms, query) => gapMs(query));
  const times = queriesOf(quiet, gaps);
  expect(named(findFlags(factsOf(syntheticLog({ throughputQps: 550 }), times)))).toEqual(expected);
});

describe('of any series', () => {
  const times = array(double({ min: 0.5, max: 20, noNaN: true }), { minLength: 30, maxLength: 400 });

  test('the order of the queries says nothing of who shared the GPU', () => {
    assert(
      property(times, infiniteStream(double({ min: 0, max: 1, noNaN: true })), (ms, keys) => {
        const shuffled = ms
          .map((value) => ({ value, key: keys.next().value ?? 0 }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ value }) => value);
        const contended = (values: readonly number[]): unknown =>
          flagsOf(values)
            .filter(({ id }) => id === 'contended')
            .map(({ effect, value }) => [effect, value?.toFixed(6)]);
        expect(contended(shuffled)).toEqual(contended(ms));
      }),
    );
  });
});

function judged(telemetry: Partial<RunTelemetry>, machine = {}) {
  const facts = factsOf(syntheticLog(), null, { telemetry: { ...NO_TELEMETRY, ...telemetry }, machine });
  const flags = findFlags(facts);
  return { flags, outcome: judgedRun(facts.log, { flags }) };
}

const said = (text: string) => [{ stream: 'stdout', line: 0, text }];

describe('heat', () => {
  test('a clock step from 1590 to 1200 MHz at 85 °C, without reasons as in dmon: throttled', () => {
    const evidence = 'SM clock 1590 MHz (lowest 1200) at 70 → 85 °C';
    const heat = { temperatureStartC: 70, temperatureMaxC: 85 };
    const { flags, outcome } = judged({ smClockMhz: 1590, smClockMinMhz: 1200, ...heat });
    expect(flags).toEqual([{ id: 'thermalSlowdown', effect: 'excluded', value: null, evidence }]);
    expect(outcome).toEqual({ kind: 'unfit', reason: 'throttled', evidence: said(evidence) });
  });

  test('the step came before the first half: the clock of the GPU tells', () => {
    const late = { smClockMhz: 1200, smClockMinMhz: 1200, temperatureMaxC: 85 };
    expect(judged(late).outcome.kind).toBe('measured');
    expect(judged(late, { maxSmClockMhz: 1590 }).outcome).toMatchObject({ reason: 'throttled' });
    expect(judged(late, { maxSmClockMhz: 1590, clockPolicy: 'locked 1200 MHz' }).outcome.kind).toBe('measured');
  });

  test('the same step in the cold is none, and heat without a step neither', () => {
    const { flags } = judged({ smClockMhz: 1590, smClockMinMhz: 1200, temperatureMaxC: 60 });
    expect([flags, judged({ smClockMhz: 1590, smClockMinMhz: 1575, temperatureMaxC: 85 }).flags]).toEqual([[], []]);
  });

  test('with reasons only those count, and one sample in twenty spoils no run', () => {
    const hot = { smClockMhz: 1590, smClockMinMhz: 1200, temperatureMaxC: 88 };
    const few = judged({ ...hot, clockReasons: { swThermalSlowdown: 0.05 } });
    expect(few.flags[0]).toMatchObject({ id: 'thermalSlowdown', effect: 'explained', value: 0.05 });
    expect(few.outcome.kind).toBe('measured');
    const many = judged({ ...hot, clockReasons: { hwThermalSlowdown: 0.4, hwSlowdown: 0.4 } });
    expect(many.flags.map(({ id }) => id)).toEqual(['thermalSlowdown']);
    const evidence = said('thermal slowdown 40 % of the time, 88 °C, SM clock 1590 MHz (lowest 1200)');
    expect(many.outcome).toMatchObject({ reason: 'throttled', evidence });
    expect(judged({ ...hot, clockReasons: { hwSlowdown: 0 } }).flags).toEqual([]);
  });

  test('power brake and the general slowdown are the board', () => {
    for (const clockReasons of [{ hwPowerBrake: 0.5, hwSlowdown: 0.5 }, { hwSlowdown: 0.5 }]) {
      const { flags, outcome } = judged({ clockReasons });
      expect(flags.map(({ id }) => id)).toEqual(['hardwareSlowdown']);
      expect(outcome).toMatchObject({ kind: 'unfit', reason: 'throttled' });
    }
  });
});

test('power: at the cap with a swinging clock, without reasons: power-limited, and measured', () => {
  const capped = { powerW: 690, powerMaxW: 702, smClockMhz: 1830, smClockMinMhz: 1650 };
  const { flags, outcome } = judged({ ...capped, temperatureMaxC: 70 }, { powerLimitW: 700 });
  const evidence = '690 of 700 W, SM clock 1830 MHz (lowest 1650)';
  expect(flags).toEqual([{ id: 'powerLimited', effect: 'explained', value: null, evidence }]);
  expect([outcome.kind, judged({ ...capped, powerW: 600 }, { powerLimitW: 700 }).flags]).toEqual(['measured', []]);
});

describe('host, link and other processes', () => {
  test('a load above one for each CPU', () => {
    const loaded = { id: 'hostLoaded', effect: 'explained', evidence: 'load average of 1.9 for each CPU' };
    expect(judged({ hostLoad: 1.9 }).flags).toMatchObject([loaded]);
    expect(judged({ hostLoad: 0.6 }).flags).toEqual([]);
  });

  test('a link below what is possible', () => {
    const link = { pcieGeneration: 3, pcieWidth: 16 };
    const reduced = { id: 'pcieReduced', value: 0.25, evidence: 'PCIe 3 x16 of 5 x16' };
    expect(judged(link, { pcieMax: '5 x16' }).flags).toMatchObject([reduced]);
    expect([judged(link, { pcieMax: '3 x16' }).flags, judged(link).flags]).toEqual([[], []]);
  });

  test('a process that the times do not show is named, and spoils nothing', () => {
    const { flags, outcome } = judged({ otherProcesses: [{ pid: 71, name: 'python3', memoryMib: 1011 }] });
    const evidence = 'another process on the GPU: python3 (71); what it did to the times is not known';
    expect([flags, outcome.kind]).toMatchObject([[{ id: 'contended', effect: 'explained', evidence }], 'measured']);
  });
});

test('a perfect router is an upper bound with invalid outputs', () => {
  const barred = { effect: 'barred', value: null };
  const load = 'ENABLE_PERFECT_ROUTER=1: all experts get the same load, unlike with a real router';
  const decisions = "ENABLE_PERFECT_ROUTER=1: the router's decisions are discarded";
  expect(marked({ env: { ENABLE_PERFECT_ROUTER: '1' }, marks: [] })).toEqual([
    { id: 'upperBound', ...barred, evidence: load },
    { id: 'invalidOutput', ...barred, evidence: decisions },
  ]);
});

test.each(['', '0', 'false', 'OFF', 'no'])('a switch is off at "%s"', (value) => {
  expect(marked({ env: { TLLM_NVTX_DEBUG: value, CUDA_LAUNCH_BLOCKING: value }, marks: [] })).toEqual([]);
});

test('profiling switches together are one flag with all of them', () => {
  const env = { TLLM_PROFILE_START_STOP: '100-150', TLLM_TORCH_PROFILE_TRACE: '0', PATH: '/bin' };
  const evidence =
    "TLLM_PROFILE_START_STOP=100-150: the profiler is turned on and off within the run; TLLM_TORCH_PROFILE_TRACE=0: PyTorch's profiler writes a trace";
  expect(marked({ env, marks: [] })).toMatchObject([{ id: 'profilingOn', evidence }]);
});

test('every known variable is stored when it is set, and none is a secret', () => {
  const names = KNOWN_VARIABLES.map(({ name }) => name);
  const env = Object.fromEntries([...names, 'HF_TOKEN', 'HOME'].map((name) => [name, 'value']));
  expect([Object.keys(storedVariables(env)).toSorted(), names.filter(isSecretName)]).toEqual([names.toSorted(), []]);
});

function flagOf(text: string) {
  const result = torchTensorrtDriver.reports(text, 'out.txt')[0]?.result;
  return result?.kind === 'read' ? singleOutlier(result.reading.latencyMs, result.reading.method.timedRuns) : null;
}

const listing = (name: string): string => readFileSync(join(GUIDE, name), 'utf8');

test('the largest time of listing 19 is 4.1 % over its p99', () => {
  const evidence = 'the largest of 100 times, 56.35 ms, is 4.1 % over p99, 54.11 ms';
  const expected = { id: 'loneOutlier', effect: 'explained', value: expect.closeTo(4.14, 2), evidence };
  expect(flagOf(listing('listing-19-torch-fp16-graph.txt'))).toEqual(expected);
});

test.each([
  'listing-10-torch-fp16-b128.txt',
  'listing-14-torch-fp8-b128.txt',
  'listing-16-torch-fp16-b256.txt',
  'listing-17-torch-fp8-b256.txt',
  'listing-20-torch-fp8-graph.txt',
])('none in %s', (name) => expect(flagOf(listing(name))).toBeNull());

test('of many runs more than one may lie above p99', () => {
  expect(flagOf(listing('listing-19-torch-fp16-graph.txt').replace('100 runs', '1000 runs'))).toBeNull();
});
