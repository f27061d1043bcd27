import type { BuildRecord } from '../../records/run.ts';
import { lockOf } from '../../machine/requests.ts';
import type { Environment } from '../../records/environment.ts';

export type ComparedBuild = Pick<BuildRecord, 'modelSha256' | 'flags'>;

export const ENVIRONMENT_FIELDS = [
  ['gpuName', 'GPU', ''],
  ['gpuUuid', 'GPU UUID', ''],
  ['computeCapability', 'compute capability', ''],
  ['gpuMemoryMib', 'GPU memory', ' MiB'],
  ['driver', 'driver', ''],
  ['cuda', 'CUDA', ''],
  ['tensorrt', 'TensorRT', ''],
  ['tensorrtLibrary', 'TensorRT library', ''],
  ['clockPolicy', 'clocks', ''],
  ['maxSmClockMhz', 'highest SM clock', ' MHz'],
  ['powerLimitW', 'power limit', ' W'],
  ['ecc', 'ECC', ''],
  ['mig', 'MIG', ''],
  ['persistence', 'persistence mode', ''],
  ['computeMode', 'compute mode', ''],
  ['driverModel', 'driver model', ''],
  ['vbios', 'VBIOS', ''],
  ['pcieMax', 'PCIe', ''],
  ['host', 'host', ''],
  ['cpu', 'CPU', ''],
  ['cpuGovernor', 'CPU governor', ''],
  ['numaNode', 'NUMA node of the GPU', ''],
  ['binding', 'bound to', ''],
  ['os', 'OS', ''],
  ['container', 'container', ''],
  ['harness', 'harness', ''],
] as const satisfies readonly (readonly [keyof Environment, string, string])[];

const OF_GPU_NAME: readonly string[] = ['computeCapability', 'gpuMemoryMib'];

/** Without a lock or a limit, the clocks of a GPU that nvidia-smi described are floating. */
const stated = (environment: Environment, field: (typeof ENVIRONMENT_FIELDS)[number][0]) =>
  environment[field] ?? (field === 'clockPolicy' && environment.maxSmClockMhz !== null ? 'floating' : null);

/** Known differences between two machines in words: `driver 580.1 → 580.2`. */
export function environmentDifferences(before: Environment, after: Environment): string[] {
  return ENVIRONMENT_FIELDS.flatMap(([field, name, unit]) => {
    const [was, is] = [stated(before, field), stated(after, field)];
    if (was === is || was === null || is === null || OF_GPU_NAME.includes(field)) return [];
    return [`${field === 'gpuUuid' ? 'GPU' : name} ${was}${unit} → ${is}${unit}`];
  });
}

export function buildDifferences(a: ComparedBuild | null, b: ComparedBuild | null): string[] {
  if (a === null || b === null) return [];
  const isOtherModel = a.modelSha256 !== null && b.modelSha256 !== null && a.modelSha256 !== b.modelSha256;
  // Follows from the precision of the cell and the version of TensorRT.
  const only = (one: ComparedBuild, other: ComparedBuild): string =>
    one.flags.filter((flag) => flag !== '--stronglyTyped' && !other.flags.includes(flag)).join(' ');
  const [gone, come] = [only(a, b), only(b, a)];
  return [
    ...(isOtherModel ? ['the model changed'] : []),
    ...(gone === come ? [] : [`build: ${gone || 'no flag'} → ${come || 'no flag'}`]),
  ];
}

type AcrossOption = 'acrossProvenance' | 'acrossGpu' | 'acrossTensorrt' | 'acrossClocks';

export type Across = Readonly<Partial<Record<AcrossOption, boolean | undefined>>>;

/** Facts across which histories do not continue and sides are not compared. */
const MACHINE = [
  ['acrossGpu', 'GPU', 'gpuName', (gpuName) => gpuName],
  ['acrossTensorrt', 'TensorRT', 'tensorrt', (version) => version?.split('.')[0] ?? null],
  ['acrossClocks', 'clocks', 'clockPolicy', lockOf],
] as const satisfies readonly (readonly [AcrossOption, string, keyof Environment, typeof lockOf])[];

export function machineKey(environment: Environment | undefined): string {
  return JSON.stringify(MACHINE.map(([, , field, keyOf]) => keyOf(environment?.[field] ?? null)));
}

/** Two GPUs of one model differ by a few percent. If one of them is unknown, they count as the same. */
export function isOtherCard(a: string | null | undefined, b: string | null | undefined): boolean {
  return Boolean(a) && Boolean(b) && a !== b;
}

type MadeOn = Readonly<{ environment: Environment | null; build: ComparedBuild | null }>;

type Difference = readonly [option: AcrossOption, text: string];

/** Differences that prevent a comparison, with all options that allow them; null for none. */
export function obstacleOf(open: readonly Difference[]): string | null {
  const options = open.map(([option]) => `--${option.replace('across', 'across-').toLowerCase()}`).join(' ');
  return open.length === 0 ? null : `${open.map(([, text]) => text).join('; ')}: compare them anyway with ${options}`;
}

/** Differences of the machine and of the build, and those that prevent a comparison. */
export function differencesOf(base: MadeOn, head: MadeOn, across: Across) {
  const build = buildDifferences(base.build, head.build);
  const [a, b] = [base.environment, head.environment];
  if (a === null || b === null) return { machine: [], build, open: [], overridden: [] };
  const found = MACHINE.flatMap(([option, label, field, keyOf]): Difference[] => {
    const [from, to] = [a, b].map((side) => stated(side, field) ?? 'unknown');
    return keyOf(a[field]) === keyOf(b[field]) ? [] : [[option, `${label} ${from} → ${to}`]];
  });
  if (a.gpuName === b.gpuName && isOtherCard(a.gpuUuid, b.gpuUuid))
    found.push(['acrossGpu', `GPU ${a.gpuUuid} → ${b.gpuUuid}`]);
  const open = found.filter(([option]) => !across[option]);
  const overridden = found.filter(([option]) => across[option]).map(([, text]) => text);
  const others = environmentDifferences(a, b).filter((one) => !open.some(([, text]) => text === one));
  return { machine: [...new Set([...overridden, ...others])], build, open, overridden };
}
