/** What nvidia-smi printed beside a run of bench. */
export const TELEMETRY_FILE = 'telemetry.csv';

/** Names under which people keep what they let nvidia-smi print beside a run. */
const QUERY_NAME = /^nvidia-smi.*\.csv$/;
const DMON_NAME = /^(?:nvidia-smi-)?dmon.*\.(?:txt|log|csv)$/;

export function isDmonName(name: string): boolean {
  return DMON_NAME.test(name);
}

/** @param name without the ending of a compression */
export function isTelemetryName(name: string): boolean {
  return name === TELEMETRY_FILE || QUERY_NAME.test(name) || isDmonName(name);
}
