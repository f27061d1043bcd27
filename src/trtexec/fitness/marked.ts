import { knownVariablesOn } from '../../process/environment-variables.ts';
import type { RunFlag, RunMark } from '../../records/run-flag.ts';

/** What `run.json` says of the circumstances. */
interface MarkedRun {
  /** Variables that were stored. */
  readonly env: Readonly<Record<string, string>>;
  readonly marks: readonly RunMark[];
}

const LONGEST_VALUE = 60;

/** What makes a run another thing than its cell as it is used: variables that are known for it, and what was said of it. */
export function marked({ env, marks }: MarkedRun): RunFlag[] {
  const flags = new Map<RunFlag['id'], string[]>();
  for (const { variable, value } of knownVariablesOn(env)) {
    for (const { id, because } of variable.flags) {
      const setting = `${variable.name}=${value.slice(0, LONGEST_VALUE)}`;
      flags.set(id, [...(flags.get(id) ?? []), `${setting}: ${because}`]);
    }
  }
  for (const mark of marks) {
    if (!flags.has(mark)) flags.set(mark, ['its experiment says so']);
  }
  return [...flags].map(([id, evidence]) => ({ id, effect: 'barred', value: null, evidence: evidence.join('; ') }));
}
