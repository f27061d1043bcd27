import { EnvironmentLackingError, UsageError } from '../domain/errors.ts';
import { deviceLabel } from '../domain/gpu-device.ts';
import type { Plan } from '../domain/plan.ts';
import { printable } from '../domain/printable.ts';
import type { StoredPlan } from '../ingest/run-sweep.ts';
import { assignGpus } from '../plan/assign-gpus.ts';
import { count } from '../report/numbers.ts';
import type { TrtexecProgram } from '../run/trtexec-program.ts';
import type { Io } from './io.ts';
import { type Machine, machineOf, machinesOf } from './machine.ts';

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
