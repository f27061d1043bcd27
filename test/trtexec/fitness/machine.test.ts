import { describe, expect, test } from 'vitest';

import type { RunTelemetry } from '../../../src/records/telemetry.ts';
import { findFlags } from '../../../src/trtexec/fitness/find-flags.ts';
import { factsOf, NO_TELEMETRY, syntheticLog } from '../../support/fitness-facts.ts';
import { judged as judgedRun } from '../../support/whole-files.ts';

function judged(telemetry: Partial<RunTelemetry>, machine = {}) {
  const facts = factsOf(syntheticLog(), null, { telemetry: { ...NO_TELEMETRY, ...telemetry }, machine });
  const flags = findFlags(facts);
  return { flags, outcome: judgedRun(facts.log, { flags }) };
}

const said = (text: string) => [{ stream: 'stdout', line: 0, text }];

describe('heat', () => {
  test('a clock step from 1590 to 1200 MHz at 85 °C, without reasons as in dmon: throttled', () => {
    const evidence = 'SM clock 1590 MHz (lowest 1200) at 85 °C';
    const { flags, outcome } = judged({ smClockMhz: 1590, smClockMinMhz: 1200, temperatureMaxC: 85 });
    expect(flags).toEqual([{ id: 'thermalSlowdown', effect: 'excluded', value: null, evidence }]);
    expect(outcome).toEqual({ kind: 'unfit', reason: 'throttled', evidence: said(evidence) });
  });

  test('the step came before the first half: the clock of the GPU tells', () => {
    const late = { smClockMhz: 1200, smClockMinMhz: 1200, temperatureMaxC: 85 };
    expect(judged(late).outcome.kind).toBe('measured');
    expect(judged(late, { maxSmClockMhz: 1590 }).outcome).toMatchObject({ reason: 'throttled' });
    const locked = { maxSmClockMhz: 1590, clockPolicy: 'locked 1200 MHz' };
    expect(judged(late, locked).outcome.kind).toBe('measured');
  });

  test('the same step in the cold is none, and heat without a step neither', () => {
    const { flags } = judged({ smClockMhz: 1590, smClockMinMhz: 1200, temperatureMaxC: 60 });
    expect(flags).toEqual([]);
    expect(judged({ smClockMhz: 1590, smClockMinMhz: 1575, temperatureMaxC: 85 }).flags).toEqual([]);
  });

  test('with reasons only those count, and one sample in twenty spoils no run', () => {
    const hot = { smClockMhz: 1590, smClockMinMhz: 1200, temperatureMaxC: 88 };
    const few = judged({ ...hot, clockReasons: { swThermalSlowdown: 0.05 } });
    expect(few.flags[0]).toMatchObject({ id: 'thermalSlowdown', effect: 'explained', value: 0.05 });
    expect(few.outcome.kind).toBe('measured');
    const many = judged({ ...hot, clockReasons: { hwThermalSlowdown: 0.4, hwSlowdown: 0.4 } });
    expect(many.flags.map(({ id }) => id)).toEqual(['thermalSlowdown']);
    expect(many.outcome).toMatchObject({
      reason: 'throttled',
      evidence: said('thermal slowdown in 40 % of 20 samples, 88 °C, SM clock 1590 MHz (lowest 1200)'),
    });
    expect(judged({ ...hot, clockReasons: { gpuIdle: 0.1 } }).flags).toEqual([]);
  });

  test('power brake and the general slowdown are the board', () => {
    for (const clockReasons of [{ hwPowerBrake: 0.5, hwSlowdown: 0.5 }, { hwSlowdown: 0.5 }]) {
      const { flags, outcome } = judged({ clockReasons });
      expect(flags.map(({ id }) => id)).toEqual(['hardwareSlowdown']);
      expect(outcome).toMatchObject({ kind: 'unfit', reason: 'throttled' });
    }
  });
});

describe('power', () => {
  test('at the cap with a swinging clock, without reasons: power-limited, and measured', () => {
    const capped = { powerW: 690, powerMaxW: 702, smClockMhz: 1830, smClockMinMhz: 1650 };
    const { flags, outcome } = judged({ ...capped, temperatureMaxC: 70 }, { powerLimitW: 700 });
    const evidence = '690 of 700 W, SM clock 1830 MHz (lowest 1650)';
    expect(flags).toEqual([{ id: 'powerLimited', effect: 'explained', value: null, evidence }]);
    expect(outcome.kind).toBe('measured');
    expect(judged({ ...capped, powerW: 600 }, { powerLimitW: 700 }).flags).toEqual([]);
  });
});

describe('host, link and other processes', () => {
  test('a load above one for each CPU', () => {
    expect(judged({ hostLoad: 1.9 }).flags).toMatchObject([
      { id: 'hostLoaded', effect: 'explained', evidence: 'load average of 1.9 for each CPU' },
    ]);
    expect(judged({ hostLoad: 0.6 }).flags).toEqual([]);
  });

  test('a link below what is possible', () => {
    const link = { pcieGeneration: 3, pcieWidth: 16 };
    expect(judged(link, { pcieMax: '5 x16' }).flags).toMatchObject([
      { id: 'pcieReduced', value: 0.25, evidence: 'PCIe 3 x16, 5 x16 is possible' },
    ]);
    expect(judged(link, { pcieMax: '3 x16' }).flags).toEqual([]);
    expect(judged(link).flags).toEqual([]);
  });

  test('a process that the times do not show is named, and spoils nothing', () => {
    const { flags, outcome } = judged({ otherProcesses: [{ pid: 71, name: 'python3', memoryMib: 1011 }] });
    const evidence = 'another process on the GPU: python3 (71); what it did to the times is not known';
    expect(flags).toMatchObject([{ id: 'contended', effect: 'explained', evidence }]);
    expect(outcome.kind).toBe('measured');
  });
});
