import { printable } from '../text/printable.ts';
import { ENVIRONMENT_FIELDS } from '../judge/compare/differences.ts';
import { CLOCK_REASONS, type ClockReason, type RunTelemetry } from '../records/telemetry.ts';
import { type Look, labelled } from './look.ts';
import { count, formatNumber, formatShare } from './numbers.ts';

type Facts = Readonly<Record<string, string | number | null>>;

/** Not among the settings: in the line above, or equal on every machine with this GPU. */
const IDENTITY = /^(?:gpu|driver$|cuda|computeCapability|tensorrt|host)/;

export function machineLines(environment: Facts, telemetry: RunTelemetry | null, look: Look): string[] {
  return [
    ...parts('machine', identity(environment), look),
    ...parts('setup', settings(environment), look),
    ...(telemetry === null ? [] : telemetryLines(telemetry, look)),
  ];
}

/** The facts that distinguish machines. */
export function identity(environment: Facts): string[] {
  const { cuda, driver, gpuName, host, tensorrt, tensorrtLibrary } = environment;
  return [
    gpuName,
    driver && `driver ${driver}`,
    cuda && `CUDA up to ${cuda}`,
    tensorrt && `TensorRT ${tensorrt}`,
    tensorrtLibrary && !isVersionOf(tensorrtLibrary, tensorrt) && `library ${tensorrtLibrary}`,
    host,
  ].flatMap((part) => (part ? [String(part)] : []));
}

function settings(environment: Facts): string[] {
  return ENVIRONMENT_FIELDS.flatMap(([field, name, unit]) => {
    const value = environment[field] ?? null;
    return value === null || IDENTITY.test(field) ? [] : [`${name} ${value}${unit}`];
  });
}

const REASON_WORDS: Readonly<Record<ClockReason, string>> = {
  gpuIdle: 'idle',
  applicationsClocks: 'applications clocks',
  swPowerCap: 'power cap',
  hwSlowdown: 'hardware slowdown',
  syncBoost: 'sync boost',
  swThermalSlowdown: 'thermal slowdown (software)',
  hwThermalSlowdown: 'thermal slowdown (hardware)',
  hwPowerBrake: 'power brake',
  displayClocks: 'display clocks',
};

export function telemetryLines(telemetry: RunTelemetry, look: Look): string[] {
  const { clockReasons, hostLoad, hostMemoryMaxMib, otherProcesses } = telemetry;
  const reasons = CLOCK_REASONS.flatMap((reason) => {
    const share = clockReasons[reason];
    return !share ? [] : [`${REASON_WORDS[reason]} ${formatShare(share)} of the time`];
  });
  const watched = [
    ...(telemetry.samples === 0 ? ['no samples of the GPU'] : sampledParts(telemetry)),
    ...(hostMemoryMaxMib === null ? [] : [`${rounded(hostMemoryMaxMib)} MiB of host memory`]),
    ...(hostLoad === null ? [] : [`host load ${formatNumber(hostLoad, 2)} a CPU`]),
  ];
  const others = otherProcesses.map(
    ({ memoryMib, name, pid }) => `${name || 'a process'} (${pid}${memoryMib === null ? '' : `, ${memoryMib} MiB`})`,
  );
  return [...parts('watched', watched, look), ...parts('held by', reasons, look), ...parts('others', others, look)];
}

function sampledParts(telemetry: RunTelemetry): string[] {
  const { pcieGeneration, pcieWidth, powerLimitW, powerMaxW, powerW } = telemetry;
  const number = (value: number | null, text: (number: string) => string): string[] =>
    value === null ? [] : [text(rounded(value))];
  const ofLimit = powerLimitW === null ? '' : ` of ${rounded(powerLimitW)} W`;
  const most = powerMaxW === null ? '' : `, at most ${rounded(powerMaxW)} W`;
  return [
    count(telemetry.samples, 'sample'),
    ...number(telemetry.smClockMhz, (value) => `SM ${value} MHz`),
    ...number(telemetry.smClockMinMhz, (value) => `at least ${value} MHz`),
    ...number(telemetry.memoryClockMhz, (value) => `memory ${value} MHz`),
    ...number(powerW, (value) => `${value} W${ofLimit}${most}`),
    ...number(telemetry.temperatureMaxC, (value) => `up to ${value} °C`),
    ...number(telemetry.gpuUtilisationPercent, (value) => `GPU busy ${value} %`),
    ...number(telemetry.memoryUsedMaxMib, (value) => `${value} MiB used`),
    ...number(telemetry.processMemoryMaxMib, (value) => `${value} MiB by the process`),
    ...(pcieGeneration === null || pcieWidth === null ? [] : [`PCIe ${pcieGeneration} x${pcieWidth}`]),
  ];
}

/** nvidia-smi prints few significant digits. */
function rounded(value: number): string {
  return String(Number(value.toFixed(1)));
}

const NAME_WIDTH = 8;

/** Wrapped lines of ` name one, two, three`; none without texts. */
function parts(name: string, texts: readonly string[], { columns }: Look): string[] {
  const label = `  ${name.padEnd(NAME_WIDTH)} `;
  return texts.length === 0 ? [] : labelled(label, texts.map(printable).join(', '), columns);
}

/** The library of a wheel may have only `10` in its name, which matches 10.6.0. */
function isVersionOf(library: unknown, tensorrt: unknown): boolean {
  const [part, whole] = [String(library), String(tensorrt)];
  return whole === part || whole.startsWith(`${part}.`);
}
