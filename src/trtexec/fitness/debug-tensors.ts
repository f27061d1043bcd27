import type { RunFlag } from '../../records/run-flag.ts';
import type { FitnessFacts } from './facts.ts';

const FLAGS =
  /(?<=^|\s)--(?:markDebug|markUnfusedTensorsAsDebugTensors|saveDebugTensors|saveAllDebugTensors)(?=[=\s]|$)/g;

/**
 * Marked tensors keep layers apart that would be fused, and saved ones are copied out in every inference: the times are
 * not those of the engine that anybody deploys.
 */
export function debugTensors({ log }: FitnessFacts): RunFlag | null {
  const found = [...new Set((log.commandLine ?? '').match(FLAGS) ?? [])];
  return found.length === 0
    ? null
    : {
        id: 'debugTensors',
        effect: 'excluded',
        value: null,
        evidence: `${found.join(' ')}: layers around marked tensors are not fused, saved ones are copied out while it runs`,
      };
}
