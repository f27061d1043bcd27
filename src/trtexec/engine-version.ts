import { compareTensorrtVersions, parseTensorrtVersion } from '../text/version.ts';

/**
 * Whether a TensorRT loads an engine of another version. An engine loads in the very version that built it; one that
 * was built version-compatible also in later ones of the same major, and nothing in its header tells that.
 */
export type Loading = 'loads' | 'maybe' | 'never';

/**
 * @param built as trtexec tells it: `10.3.0.26`
 * @param running such as `10.6.0`
 */
export function loadingOf(built: string, running: string): Loading {
  const a = parseTensorrtVersion(built);
  const b = parseTensorrtVersion(running);
  if (a === null || b === null) return 'maybe';
  const order = compareTensorrtVersions(a, b);
  if (order === 0) return 'loads';
  return a.major === b.major && order < 0 ? 'maybe' : 'never';
}
