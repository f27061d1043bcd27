import { UsageError } from '../errors.ts';
import type { Environment } from '../records/environment.ts';
import type { Sweep } from '../records/sweep.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { sweepEnvironments } from '../store/sweeps/environments.ts';
import { newestDone } from '../store/sweeps/find-sweeps.ts';
import { printable } from '../text/printable.ts';

const FIELDS = {
  trt: 'tensorrt',
  driver: 'driver',
  cuda: 'cuda',
  container: 'container',
  gpu: 'gpuName',
  host: 'host',
} as const satisfies Readonly<Record<string, keyof Environment>>;

const WORD = new RegExp(`^(${Object.keys(FIELDS).join('|')})=(.+)$`);
const VERSIONS: readonly string[] = ['trt', 'driver', 'cuda'];

/**
 * Reads `trt=10.6` or `driver=580,gpu=H200`, conditions on all runs of a sweep. A version matches to the given number
 * of parts; another name matches a part of the value, ignoring case.
 * @returns null for any other text
 */
function conditionsOf(ref: string) {
  const conditions = ref.split(',').map((part) => {
    const [, word = '', value = ''] = WORD.exec(part.trim()) ?? [];
    const matches = (stored: string): boolean =>
      VERSIONS.includes(word)
        ? `${stored}.`.startsWith(`${value}.`)
        : stored.toLowerCase().includes(value.toLowerCase());
    const [, field] = Object.entries(FIELDS).find(([name]) => name === word) ?? [];
    return field === undefined ? null : { field, matches };
  });
  const known = conditions.filter((condition) => condition !== null);
  return known.length === conditions.length ? known : null;
}

/**
 * The newest finished sweep whose runs all meet the conditions.
 * @param like prefers its matrix and provenance
 * @param branch null for any
 * @returns null if the text names no environment
 * @throws UsageError if no sweep meets the conditions
 */
export function sweepInEnvironment(db: StoreDatabase, ref: string, like: Sweep | null, branch: string | null) {
  const conditions = conditionsOf(ref);
  if (conditions === null) return null;
  const isThere = ({ sweepId }: Sweep): boolean => {
    const environments = sweepEnvironments(db, sweepId);
    return conditions.every(({ field, matches }) => {
      // A run that ended early may lack the field.
      const known = environments.flatMap((environment) => environment[field] ?? []);
      return known.length > 0 && known.every((value) => matches(String(value)));
    });
  };
  const found = newestDone(db, like, branch, isThere);
  if (found !== null) return found;
  throw new UsageError(`${printable(ref)}: no finished sweep was measured there; see \`bench ls machines\``);
}
