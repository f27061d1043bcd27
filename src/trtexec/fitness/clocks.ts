import type { RunFlag, RunFlagId } from '../../records/run-flag.ts';
import type { ClockReason, RunTelemetry } from '../../records/telemetry.ts';
import { type FitnessFacts, percent } from './facts.ts';

/** From this share of the samples a slowdown makes a run unfit: one sample does not affect the median. */
const UNFIT_SHARE = 0.1;
/** Share of the samples from which the power cap is reported. */
const CAPPED_SHARE = 0.1;
/** If the driver gives no reasons: at this share of its limit a board is at its cap, */
const AT_CAP = 0.95;
/** data-center GPUs slow down from about 85 °C on, */
const HOT_C = 83;
/** and a clock this far below another one is a step: clocks vary by one or two steps of 15 MHz. */
const CLOCK_STEP = 0.93;

export function powerLimited({ telemetry, machine }: FitnessFacts): RunFlag | null {
  if (telemetry === null) return null;
  const limitW = telemetry.powerLimitW ?? machine.powerLimitW ?? null;
  const share = telemetry.clockReasons.swPowerCap ?? 0;
  const { powerW } = telemetry;
  const atCap = limitW !== null && powerW !== null && powerW >= AT_CAP * limitW;
  if (share < CAPPED_SHARE && (knowsReasons(telemetry) || !atCap)) return null;
  const power = powerW === null ? [] : [`${whole(powerW)}${limitW === null ? '' : ` of ${whole(limitW)}`} W`];
  const reason = share > 0 ? [`software power cap in ${percent(share)} of ${telemetry.samples} samples`] : [];
  const evidence = [...reason, ...power, clockText(telemetry)].filter((part) => part !== '').join(', ');
  return { id: 'powerLimited', effect: 'explained', value: share > 0 ? share : null, evidence };
}

export function thermalSlowdown(facts: FitnessFacts): RunFlag | null {
  const { telemetry } = facts;
  if (telemetry === null) return null;
  const share = longest(telemetry, ['swThermalSlowdown', 'hwThermalSlowdown']);
  const heat = telemetry.temperatureMaxC;
  const hot = heat === null ? '' : `, ${whole(heat)} °C`;
  if (share > 0) return slowdown('thermalSlowdown', share, `thermal slowdown`, telemetry, hot);
  if (knowsReasons(telemetry) || heat === null || heat < HOT_C || !isSlowed(facts, telemetry)) {
    return null;
  }
  const evidence = `${clockText(telemetry)} at ${whole(heat)} °C`;
  return { id: 'thermalSlowdown', effect: 'excluded', value: null, evidence };
}

/** The board slowed the GPU down for a reason other than heat, usually its power supply. */
export function hardwareSlowdown({ telemetry }: FitnessFacts): RunFlag | null {
  if (telemetry === null) return null;
  const brake = longest(telemetry, ['hwPowerBrake']);
  if (brake > 0) return slowdown('hardwareSlowdown', brake, 'power brake', telemetry, '');
  // The general bit is set together with the thermal one, too.
  const isThermal = longest(telemetry, ['hwThermalSlowdown', 'swThermalSlowdown']) > 0;
  const share = isThermal ? 0 : longest(telemetry, ['hwSlowdown']);
  return share > 0 ? slowdown('hardwareSlowdown', share, 'hardware slowdown', telemetry, '') : null;
}

function slowdown(id: RunFlagId, share: number, name: string, telemetry: RunTelemetry, hot: string): RunFlag {
  return {
    id,
    effect: share >= UNFIT_SHARE ? 'excluded' : 'explained',
    value: share,
    evidence: [`${name} in ${percent(share)} of ${telemetry.samples} samples${hot}`, clockText(telemetry)]
      .filter((part) => part !== '')
      .join(', '),
  };
}

function longest({ clockReasons }: RunTelemetry, reasons: readonly ClockReason[]): number {
  return Math.max(...reasons.map((reason) => clockReasons[reason] ?? 0));
}

/** `dmon` reports no reasons; a summary with any of them comes from samples that had them. */
function knowsReasons({ clockReasons }: RunTelemetry): boolean {
  return Object.keys(clockReasons).length > 0;
}

/** The clock dropped during the run, or was well below this GPU's usual unlocked clock. */
function isSlowed({ machine }: FitnessFacts, telemetry: RunTelemetry): boolean {
  const { smClockMhz, smClockMinMhz } = telemetry;
  if (smClockMhz === null) return false;
  if (smClockMinMhz !== null && smClockMinMhz < CLOCK_STEP * smClockMhz) return true;
  const isLocked = (machine.clockPolicy ?? '').startsWith('locked');
  const fullMhz = machine.maxSmClockMhz ?? null;
  return fullMhz !== null && !isLocked && smClockMhz < CLOCK_STEP * fullMhz;
}

function clockText({ smClockMhz, smClockMinMhz }: RunTelemetry): string {
  if (smClockMhz === null) return '';
  const lowest = smClockMinMhz === null || smClockMinMhz >= smClockMhz ? '' : ` (lowest ${whole(smClockMinMhz)})`;
  return `SM clock ${whole(smClockMhz)} MHz${lowest}`;
}

function whole(value: number): string {
  return value.toFixed(0);
}
