import type { DeviceFacts } from './parsed-log.ts';
import { finiteOrNull } from './numbers.ts';

export type DeviceDraft = { -readonly [Key in keyof DeviceFacts]: DeviceFacts[Key] };

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
