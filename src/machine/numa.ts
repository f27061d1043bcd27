import type { NumaPolicy } from './requests.ts';
import { ask } from '../process/ask.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';

const ANSWER_MS = 5_000;

/**
 * The prefix of a command line, empty if nothing is bound, and a note for the user.
 * @param gpuNode node of the GPU; null if there is only one
 */
export async function bindToNode(policy: NumaPolicy, gpuNode: number | null, env: EnvironmentVariables) {
  const node = policy === 'auto' ? gpuNode : policy === 'off' ? null : policy;
  if (node === null) return { prefix: [], note: null };
  const answer = await ask('numactl', ['--hardware'], { env, timeoutMs: ANSWER_MS });
  if (answer.kind !== 'answered') {
    const why = answer.kind === 'missing' ? 'is not installed' : 'gives no answer';
    return { prefix: [], note: `numactl ${why}: runs are bound to no NUMA node` };
  }
  if (!new RegExp(`^node ${node} cpus:`, 'm').test(answer.text)) {
    return { prefix: [], note: `there is no NUMA node ${node}: runs are bound to none` };
  }
  const other = gpuNode !== null && gpuNode !== node;
  return {
    prefix: ['numactl', `--cpunodebind=${node}`, `--membind=${node}`],
    note: other ? `runs are bound to NUMA node ${node}, their GPU hangs on node ${gpuNode}` : null,
  };
}
