import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { outcomeReason } from '../../src/records/outcome.ts';
import { remarkNumbers } from '../../src/trtexec/log/hints.ts';
import { compareFacts, type Comparison } from './compare-facts.ts';
import type { Facts } from './facts.ts';
import { differs } from './report.ts';
import type { StoredRun } from './stored-run.ts';

const METRIC = /^(?:latency|enqueue|h2d|gpuCompute|d2h)Ms\./;
const FIGURES = new Set([
  'throughputQps',
  'hostWalltimeS',
  'gpuTotalS',
  'queries',
  'warmUpQueries',
  'contextMemoryMib',
]);

/** What the store holds of a run against the text of its log. */
export function compareStored(stored: StoredRun, facts: Facts): Comparison {
  const claims = new Map(stored.claims);
  // Worked out from throughput and wall time where the trace does not say it.
  if (!facts.has('queries')) claims.delete('queries');
  const held = [...facts].filter(
    ([key]) => key.startsWith('banner.') || (stored.isMeasured && (FIGURES.has(key) || METRIC.test(key))),
  );
  return compareFacts(new Map(held), claims, 'the store');
}

/** What the store holds of a run against what was read from disk. */
export function storedDifferences(stored: StoredRun, run: ReadRun): string[] {
  const { row } = stored;
  const { manifest, outcome, log, exports } = run;
  const numbers = Object.entries(remarkNumbers(log.build)).flatMap(([id, value]) =>
    value === null ? [] : [`${id} ${value}`],
  );
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['outcome', outcome.kind, row['outcome']],
    ['reason', outcomeReason(outcome), row['reason']],
    ['exit code', manifest.exitCode, row['exit_code']],
    ['signal', manifest.signal, row['signal']],
    ['timed out', Number(manifest.timedOut), row['timed_out']],
    ['wall time', manifest.wallS, row['wall_s']],
    ['argv', manifest.argv === null ? null : JSON.stringify(manifest.argv), row['argv']],
    ['notes', JSON.stringify(run.notes), row['notes']],
    ['provenance', manifest.provenance ?? 'imported', row['provenance']],
    ['evidence', lines(outcome.evidence), lines(stored.evidence)],
    ['hints', list(new Set([...log.hints.map(({ id }) => id), ...numbers])), list(stored.hints)],
    ['artefacts', files(run.artefacts), files(stored.artefacts)],
    ['a measurement', log.measurement !== null, stored.isMeasured],
    ['number of samples', exports.times?.count || null, stored.samples?.count ?? null],
    ...layerPairs(stored, run),
  ];
  return pairs
    .filter(([, expected, got]) => !Object.is(expected, got))
    .map(([what, expected, got]) => differs(`${what}, of the store`, expected, got));
}

function layerPairs(
  { profile, iterations }: StoredRun,
  { log, exports }: ReadRun,
): (readonly [string, unknown, unknown])[] {
  const read = exports.profile ?? log.profile;
  const layers = exports.layerInfo?.layers ?? [];
  if (read === null && layers.length === 0) return [['layers', null, profile]];
  return [
    ['iterations', read?.iterations ?? null, iterations],
    ['profile', JSON.stringify(read?.layers ?? null), JSON.stringify(profile?.['profile'])],
    ['layers', JSON.stringify(layers), JSON.stringify(profile?.['layers'])],
  ];
}

function lines(evidence: readonly object[]): string {
  return evidence.map((entry) => sorted(entry, ['stream', 'line', 'text'])).join('\n');
}

function files(artefacts: readonly object[]): string {
  return list(artefacts.map((entry) => sorted(entry, ['name', 'sha256', 'bytes'])));
}

/** Some fields of an object in a fixed order. */
function sorted(entry: object, fields: readonly string[]): string {
  const values = new Map<string, unknown>(Object.entries(entry));
  return JSON.stringify(fields.map((field) => values.get(field)));
}

function list(words: Iterable<string>): string {
  return [...words].toSorted().join(' ');
}
