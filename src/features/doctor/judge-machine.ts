import type { DoctorCheck } from './output.ts';
import type { MachineFacts } from '../../machine/machine-facts.ts';
import { driverChecks } from './driver-checks.ts';
import { gpuChecks } from './gpu-checks.ts';
import { hostChecks } from './host-checks.ts';
import { storeChecks } from './store-checks.ts';
import { toolChecks } from './tool-checks.ts';
import { trtexecChecks } from './trtexec-checks.ts';

/** Every check of a machine, in the order in which a newcomer mends them. */
export function judgeMachine(facts: MachineFacts): DoctorCheck[] {
  return [
    ...trtexecChecks(facts),
    ...driverChecks(facts),
    ...gpuChecks(facts),
    ...hostChecks(facts),
    ...storeChecks(facts),
    ...toolChecks(facts),
  ];
}

/** What keeps this machine from measuring. */
export function lackingOf(checks: readonly DoctorCheck[]): DoctorCheck[] {
  return checks.filter(({ essential, state }) => essential && state === 'failed');
}
