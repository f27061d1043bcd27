import { CLOCK_REASONS, type ClockReason } from '../../records/telemetry.ts';

const NO_VALUE =
  /^(?:|-|none|\[?(?:n\/a|not supported|unknown error|gpu requires reset|insufficient permissions|requested functionality has been deprecated|.*not found)\]?)$/i;

/** Null for all notations of a missing value. */
export function textOrNull(text: string | null | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return NO_VALUE.test(trimmed) ? null : trimmed;
}

/** The number before a unit: `345 MHz`, `16x`, `0 %`. Null if there is none. */
export function numberOrNull(text: string | null | undefined): number | null {
  const digits = /^[+-]?\d+(?:\.\d+)?(?=$|[\sx%])/.exec(textOrNull(text) ?? '')?.[0];
  return digits === undefined ? null : Number(digits);
}

/** `on` for `Enabled`, `off` for `Disabled`. */
export function switchOrNull(text: string | null | undefined): 'on' | 'off' | null {
  const word = textOrNull(text)?.toLowerCase();
  return word === 'enabled' ? 'on' : word === 'disabled' ? 'off' : null;
}

/** Reason names of nvidia-smi, after `clocks_event_reason_` or `clocks_throttle_reasons.`. */
const REASON_BY_NAME: ReadonlyMap<string, ClockReason> = new Map([
  ['gpu_idle', 'gpuIdle'],
  ['applications_clocks_setting', 'applicationsClocks'],
  ['sw_power_cap', 'swPowerCap'],
  ['hw_slowdown', 'hwSlowdown'],
  ['sync_boost', 'syncBoost'],
  ['sw_thermal_slowdown', 'swThermalSlowdown'],
  ['hw_thermal_slowdown', 'hwThermalSlowdown'],
  ['hw_power_brake_slowdown', 'hwPowerBrake'],
  ['display_clocks_setting', 'displayClocks'],
]);

/** Before driver 535 they were called throttle reasons. */
const REASON_FIELD = /^clocks_(?:event|throttle)_reasons?[_.](\w+)$/;

function clockReasonOfField(field: string): ClockReason | null {
  return REASON_BY_NAME.get(REASON_FIELD.exec(field)?.[1] ?? '') ?? null;
}

/** Whether a column has one reason, or all of them as a mask. */
export function isReasonField(field: string): boolean {
  return isReasonMask(field) || clockReasonOfField(field) !== null;
}

function isReasonMask(field: string): boolean {
  return REASON_FIELD.exec(field)?.[1] === 'active';
}

/** Reads `0x0000000000000004`: one bit per reason. Null if it is not such a number. */
function reasonsOfMask(text: string | null | undefined): ClockReason[] | null {
  const digits = /^0x[0-9a-f]{1,16}$/i.exec(text?.trim() ?? '')?.[0];
  if (digits === undefined) return null;
  const mask = BigInt(digits);
  return CLOCK_REASONS.filter((_, bit) => ((mask >> BigInt(bit)) & 1n) === 1n);
}

/** Reads fields for single reasons, `Active` or `Not Active`. Null if no field has either value. */
function reasonsOfFields(fields: Iterable<readonly [field: string, value: string]>): ClockReason[] | null {
  const isActive = new Map<ClockReason, boolean>();
  for (const [field, value] of fields) {
    const reason = clockReasonOfField(field);
    const [word, not] = /^(not )?active$/i.exec(value.trim()) ?? [];
    if (reason !== null && word !== undefined) isActive.set(reason, not === undefined || isActive.get(reason) === true);
  }
  return isActive.size === 0 ? null : CLOCK_REASONS.filter((reason) => isActive.get(reason) === true);
}

/** The mask has all reasons, while single fields have only the queried ones. Null if no field has any. */
export function reasonsIn(fields: ReadonlyMap<string, string>): ClockReason[] | null {
  const masks = [...fields].map(([name, value]) => (isReasonMask(name) ? reasonsOfMask(value) : null));
  return masks.find((reasons) => reasons !== null) ?? reasonsOfFields(fields);
}

const INSTANT = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d)(\.\d{1,3})?$/;

/**
 * `2026/11/21 07:55:17.720` in ISO 8601. nvidia-smi prints local time without a zone, which is read as UTC. That is
 * right for bench's recordings, which request UTC; in other files only differences matter.
 */
export function instantOrNull(text: string | null | undefined): string | null {
  const [, year, month, day, time, fraction = ''] = INSTANT.exec(text?.trim() ?? '') ?? [];
  if (year === undefined) return null;
  const instant = new Date(`${year}-${month}-${day}T${time}${fraction}Z`);
  return Number.isNaN(instant.getTime()) ? null : instant.toISOString();
}
