import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import type { HostState } from './machine-facts.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { hostFacts, hostLoad } from './host-facts.ts';

/** How the machine around the GPU is just now. */
export function hostState(env: EnvironmentVariables): HostState {
  return {
    node: process.versions.node,
    platform: process.platform,
    cpuCount: availableParallelism(),
    loadPerCpu: hostLoad(),
    cpuGovernor: hostFacts(env).cpuGovernor ?? null,
    numaNodes: numaNodes(),
    isJetson: existsSync('/etc/nv_tegra_release'),
  };
}

function numaNodes(): number | null {
  try {
    const names = readdirSync('/sys/devices/system/node');
    return names.filter((name) => /^node\d+$/.test(name)).length;
  } catch {
    return null;
  }
}
