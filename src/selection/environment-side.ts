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

interface Condition {
  readonly field: keyof Environment;
  readonly matches: (stored: string) => boolean;
}

/**
 * `trt=10.6`, `driver=580,gpu=H200`: what all runs of a sweep were made on. A version has as many numbers as are
 * written; of other names a part is enough, in any case.
 * @returns null for another text
 */
function conditionsOf(ref: string): readonly Condition[] | null {
  const conditions = ref.split(',').flatMap((part): Condition[] => {
    const [, word = '', value = ''] = WORD.exec(part.trim()) ?? [];
    if (!isField(word)) return [];
    const matches = VERSIONS.includes(word)
      ? (stored: string): boolean => `${stored}.`.startsWith(`${value}.`)
      : (stored: string): boolean => stored.toLowerCase().includes(value.toLowerCase());
    return [{ field: FIELDS[word], matches }];
  });
  return conditions.length === ref.split(',').length ? conditions : null;
}

function isField(word: string): word is keyof typeof FIELDS {
  return Object.hasOwn(FIELDS, word);
}

/**
 * The newest finished sweep that was measured wholly there.
 * @param like of the same matrix and provenance, where there is one
 * @param branch null for any
 * @returns null where the text names no environment
 * @throws UsageError where no sweep was measured there
 */
export function sweepInEnvironment(
  db: StoreDatabase,
  ref: string,
  like: Sweep | null,
  branch: string | null,
): Sweep | null {
  const conditions = conditionsOf(ref);
  if (conditions === null) return null;
  const environmentsOfSweep = sweepEnvironments(db);
  const isThere = ({ sweepId }: Sweep): boolean => {
    const environments = environmentsOfSweep(sweepId);
    return conditions.every(({ field, matches }) => {
      // A run that ended early may not know it.
      const known = environments.flatMap((environment) => environment[field] ?? []);
      return known.length > 0 && known.every((value) => matches(String(value)));
    });
  };
  const found = newestDone(db, like, branch, isThere);
  if (found !== null) return found;
  throw new UsageError(`${printable(ref)}: no finished sweep was measured there; see \`bench ls machines\``);
}
