import type { DoctorCheck } from './output.ts';
import type { HostState, MachineFacts } from '../../machine/machine-facts.ts';
import { check } from './answer.ts';

const GROUP = 'host';
/** With more than this share of the CPUs at other work, launches are delayed. */
const BUSY_SHARE = 0.5;

export function hostChecks(facts: MachineFacts): DoctorCheck[] {
  const { host } = facts;
  return [
    check(GROUP, 'host.node', 'Node', 'ok', host.node),
    ...loadCheck(host),
    ...governorCheck(host),
    ...numaCheck(facts),
  ];
}

function loadCheck({ loadPerCpu, cpuCount }: HostState): DoctorCheck[] {
  if (loadPerCpu === null) return [];
  const evidence = `load of ${loadPerCpu.toFixed(2)} on each of ${cpuCount} CPUs`;
  return loadPerCpu > BUSY_SHARE
    ? [
        check(GROUP, 'host.load', 'CPUs', 'warning', `${evidence}: launches may wait`, {
          mend: 'top   # what else runs here?',
        }),
      ]
    : [check(GROUP, 'host.load', 'CPUs', 'ok', evidence)];
}

function governorCheck({ cpuGovernor }: HostState): DoctorCheck[] {
  if (cpuGovernor === null) return [];
  const [id, title] = ['host.governor', 'CPU governor'];
  return cpuGovernor === 'performance'
    ? [check(GROUP, id, title, 'ok', cpuGovernor)]
    : [
        check(GROUP, id, title, 'advice', `${cpuGovernor}: enqueue times follow the CPU clock`, {
          mend: 'sudo cpupower frequency-set --governor performance',
        }),
      ];
}

function numaCheck({ host, gpus, numactl }: MachineFacts): DoctorCheck[] {
  if (host.numaNodes === null || host.numaNodes < 2 || gpus.kind === 'none') return [];
  const nodes = gpus.gpus.flatMap(({ index, numaNode }) => (numaNode === null ? [] : [{ index, numaNode }]));
  const [first] = nodes;
  if (first === undefined) return [];
  const where = nodes.map(({ index, numaNode }) => `GPU ${index} on node ${numaNode}`).join(', ');
  const evidence = `${where} of ${host.numaNodes}`;
  const command = `numactl --cpunodebind=${first.numaNode} --membind=${first.numaNode} bench run MATRIX`;
  return [
    numactl.kind === 'answered'
      ? check(GROUP, 'host.numa', 'NUMA', 'advice', evidence, { mend: command })
      : check(GROUP, 'host.numa', 'NUMA', 'advice', `${evidence}, and numactl is not there`, {
          mend: `sudo apt-get install numactl   # then: ${command}`,
        }),
  ];
}
