import { EnvironmentLackingError, UsageError } from '../errors.ts';
import { deviceLabel } from '../tools/nvidia-smi/gpu-device.ts';
import type { Plan } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import type { StoredPlan } from './stored-plan.ts';
import { assignGpus } from '../matrix/plan/assign-gpus.ts';
import { count } from '../terminal/numbers.ts';
import type { TrtexecProgram } from '../trtexec/program/trtexec-program.ts';
import type { Io } from '../cli/io.ts';
import { type Machine, machineOf, machinesOf } from '../machine/machine.ts';

/**
 * The machine as each of its GPUs sees it.
 * @param gpus as `--gpus` names them; null for the one that a process sees first
 */
export async function machinesFor(
  program: TrtexecProgram,
  gpus: string | null,
  io: Io,
): Promise<[Machine, ...Machine[]]> {
  if (gpus === null) return [await machineOf(program, io)];
  if (program.recordings !== null) {
    throw new UsageError('--gpus and recordings exclude each other: no GPU will run');
  }
  const [first, ...others] = await machinesOf(gpus, io);
  if (first === undefined) throw new EnvironmentLackingError('--gpus: no GPU is visible here');
  return [first, ...others];
}

/**
 * Says which GPU measures which cell.
 * @param previous UUID by cell key, of cells that were measured before
 */
export function shareOut(
  plan: Plan,
  machines: readonly Machine[],
  previous: ReadonlyMap<string, string>,
  io: Io,
): StoredPlan['gpus'] {
  const devices = machines.flatMap(({ device }) => device ?? []);
  const uuids = devices.map(({ uuid }) => uuid);
  const cells = assignGpus(plan, uuids, previous);
  for (const device of devices) {
    const own = plan.cells.filter(({ cell }) => cells[cell.key] === device.uuid).length;
    io.err(`${deviceLabel(device)} (${printable(device.name)}): ${count(own, 'cell')}\n`);
  }
  return { uuids, cells };
}
