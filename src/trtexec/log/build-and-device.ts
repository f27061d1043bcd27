import type { BuildFacts, DeviceFacts } from './parsed-log.ts';
import { finiteOrNull, NUMBER } from './printed-values.ts';

type BuildDraft = { -readonly [Key in keyof BuildFacts]: BuildFacts[Key] };

export function emptyBuild(): BuildDraft {
  return {
    engineBuiltS: null,
    createdEngineMib: null,
    loadedEngineMib: null,
    deserializedS: null,
    parsedModelS: null,
    contextMemoryMib: null,
    refitMs: null,
    inferenceSkipped: false,
    inferenceStarted: false,
  };
}

type NumericFact = Exclude<keyof BuildFacts, 'inferenceSkipped' | 'inferenceStarted'>;

/** Lines that stand once for each phase; their order and number differ by version. */
const BUILD_LINES: readonly { readonly fact: NumericFact; readonly pattern: RegExp }[] = [
  { fact: 'engineBuiltS', pattern: new RegExp(`^Engine built in (${NUMBER}) sec`) },
  { fact: 'createdEngineMib', pattern: new RegExp(`^Created engine with size: (${NUMBER}) MiB`) },
  { fact: 'loadedEngineMib', pattern: new RegExp(`^Loaded engine (?:with )?size: (${NUMBER}) MiB`) },
  { fact: 'deserializedS', pattern: new RegExp(`^Engine (?:deserialized|loaded) in (${NUMBER}) sec`) },
  { fact: 'parsedModelS', pattern: new RegExp(`^Finished parsing network model\\. Parse time: (${NUMBER})`) },
  {
    fact: 'contextMemoryMib',
    pattern: new RegExp(`^Created execution context with device memory size: (${NUMBER}) MiB`),
  },
  {
    // Of the strategies that do not reserve what the largest profile takes.
    fact: 'contextMemoryMib',
    pattern: new RegExp(`^Only allocated device memory enough for current (?:profile|input shapes): (${NUMBER}) MiB`),
  },
  { fact: 'refitMs', pattern: new RegExp(`^Engine refitted in (${NUMBER}) ms`) },
];

/** Takes one `[I]` line outside the banner and the report. */
export function readBuildLine(draft: BuildDraft, text: string): void {
  if (text.startsWith('Starting inference')) draft.inferenceStarted = true;
  else if (text.startsWith('Skipped inference phase since')) draft.inferenceSkipped = true;
  else {
    for (const { fact, pattern } of BUILD_LINES) {
      const match = pattern.exec(text);
      if (match !== null) {
        draft[fact] = finiteOrNull(match[1]);
        return;
      }
    }
  }
}

type DeviceDraft = { -readonly [Key in keyof DeviceFacts]: DeviceFacts[Key] };

export function emptyDevice(): DeviceDraft {
  return {
    name: null,
    id: null,
    uuid: null,
    computeCapability: null,
    sms: null,
    globalMemoryMib: null,
    sharedMemoryPerSmKib: null,
    memoryBusWidthBits: null,
    ecc: null,
    applicationComputeClockGhz: null,
    applicationMemoryClockGhz: null,
  };
}

/** Takes one line of the `=== Device Information ===` block; false when it is none of its lines. Clock lines changed their name in 8.6. */
export function readDeviceLine(draft: DeviceDraft, text: string): boolean {
  const colon = text.indexOf(': ');
  if (colon === -1) return false;
  const value = text.slice(colon + 2).trim();
  const first = finiteOrNull(value.split(' ')[0]);
  switch (text.slice(0, colon).trim()) {
    case 'Selected Device':
      draft.name = value;
      break;
    case 'Selected Device ID':
      draft.id = first;
      break;
    case 'Selected Device UUID':
      draft.uuid = value;
      break;
    case 'Compute Capability':
      draft.computeCapability = value;
      break;
    case 'SMs':
      draft.sms = first;
      break;
    case 'Device Global Memory':
    case 'Device Memory':
      draft.globalMemoryMib = first;
      break;
    case 'Shared Memory per SM':
      draft.sharedMemoryPerSmKib = first;
      break;
    case 'Memory Bus Width':
      draft.memoryBusWidthBits = first;
      draft.ecc = value.includes('ECC enabled') ? true : value.includes('ECC disabled') ? false : null;
      break;
    case 'Application Compute Clock Rate':
    case 'Compute Clock Rate':
      draft.applicationComputeClockGhz = first;
      break;
    case 'Application Memory Clock Rate':
    case 'Memory Clock Rate':
      draft.applicationMemoryClockGhz = first;
      break;
    default:
      return false;
  }
  return true;
}
