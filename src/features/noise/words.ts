import type { FalseAlarms } from './false-alarms.ts';
import { LEAST_CALLED_PERCENT, MOST_REPEATS } from './visible-change.ts';
import type { NoiseOutput, NoisyCell } from './output.ts';
import { count, formatDuration, formatNumber } from '../../terminal/numbers.ts';

/** `0.14 %`: two significant digits. */
export function percentText(percent: number): string {
  return `${formatNumber(percent, 2)} %`;
}

/** `0.6 to 4.2 %`. */
export function percentRange(low: number, high: number): string {
  const [from, to] = [formatNumber(low, 2), formatNumber(high, 2)];
  return from === to ? `${from} %` : `${from} to ${to} %`;
}

export function noiseHeadline({ mdePercent: visible, repeats, falseAlarms }: NoiseOutput): string {
  if (visible === null || repeats === null) {
    return 'the noise of runs is not known yet: no cell has two runs in its newest sweep';
  }
  const { typical, least, most } = visible;
  const range = least === most ? '' : ` (${percentRange(least, most)})`;
  const seen = `a change of ${percentText(typical)} is detectable in a typical cell with ${count(repeats, 'run')} per side${range}`;
  return `${seen}; ${alarmWords(falseAlarms)}`;
}

/** Sweeps against their neighbors, as everybody compares; sweeps against themselves where these are worse, or alone. */
function headlineAlarms({ halves, neighbours }: NoiseOutput['falseAlarms']): {
  readonly alarms: FalseAlarms;
  readonly where: 'within' | 'between';
} {
  const [within, between] = [halves, neighbours].map(({ ofCells }) => ofCells?.percent ?? -1);
  return (between ?? -1) >= (within ?? -1)
    ? { alarms: neighbours, where: 'between' }
    : { alarms: halves, where: 'within' };
}

function alarmWords(falseAlarms: NoiseOutput['falseAlarms']): string {
  const { alarms, where } = headlineAlarms(falseAlarms);
  const { comparisons, cells, calls, ofCells, ofComparisons } = alarms;
  if (ofCells === null || ofComparisons === null) return 'no A/A comparison is possible yet';
  const what = `${count(calls, 'false alarm')} in ${count(comparisons, 'A/A comparison')} ${where} sweeps of ${count(cells, 'cell')}`;
  const [low, high] = ofCells.ciPercent;
  return calls === 0
    ? `${what} (at most ${percentText(high)} of cells, 95 %)`
    : `${what} (${percentText(ofCells.percent)} of cells; ${percentRange(low, high)}, 95 %; ${percentText(ofComparisons.percent)} of matrices)`;
}

/** Cost of detecting a change of the wanted size. */
export function effortWords({ cells: all, effort, wantPercent }: NoiseOutput): string | null {
  const { cells, now, wanted } = effort;
  if (cells === 0) return null;
  const minutes =
    now.gpuMinutes === null || wanted.gpuMinutes === null
      ? ''
      : `, ${formatDuration(60 * wanted.gpuMinutes)} of GPU time instead of ${formatDuration(60 * now.gpuMinutes)}`;
  const where = cells === all.length ? 'every cell' : `${cells} of ${all.length} cells`;
  if (wanted.runs === now.runs) return `to detect ${wantPercent} % in ${where}: the present repeats are enough`;
  return `to detect ${wantPercent} % in ${where}: ${count(wanted.runs, 'run')} a sweep instead of ${now.runs}${minutes}`;
}

/** Whether no number of runs shows a change of this many percent. */
export function isUnattainable({ repeatsWanted, attainablePercent }: NoisyCell, wantPercent: number): boolean {
  return repeatsWanted === null && (attainablePercent ?? 0) > wantPercent;
}

function unattainableText(cells: readonly NoisyCell[], wantPercent: number): string {
  const least = cells.map(({ attainablePercent }) => roundedUp(attainablePercent ?? 0));
  const why = least.some((percent) => percent > roundedUp(LEAST_CALLED_PERCENT))
    ? 'sweeps differ by too much'
    : `changes under ${LEAST_CALLED_PERCENT} % are never reported`;
  const range = percentRange(Math.min(...least), Math.max(...least));
  return `no number of runs detects ${wantPercent} % in ${count(cells.length, 'cell')}: ${why}; at best ${range} is detectable there`;
}

/** Two digits, rounded up: a change said to be detectable must be. */
function roundedUp(percent: number): number {
  const step = 10 ** (Math.floor(Math.log10(percent)) - 1);
  return (Math.floor(percent / step + 1e-6) + 1) * step;
}

/** Fewer comparisons prove little, even without an alarm. */
const ENOUGH_COMPARISONS = 20;
const PROMISED_PERCENT = 3;

/**
 * The basis of the numbers and its gaps.
 * @param copies sweeps left out as copies of an earlier one
 */
export function noiseNotes(noise: Omit<NoiseOutput, 'notes'>, copies: number): string[] {
  const { builds, cells, effort, provenance, wantPercent } = noise;
  const single = cells.filter(({ repeats }) => repeats < 2).length;
  const never = cells.filter((cell) => isUnattainable(cell, wantPercent));
  const beyond = cells.filter(
    (cell) => cell.runPercent !== null && cell.repeatsWanted === null && !isUnattainable(cell, wantPercent),
  ).length;
  const restless = cells.filter(({ larger }) => larger === 'nights').length;
  const { leftOut } = noise.falseAlarms;
  const lucky = builds.filter(({ differ }) => differ).length;
  return [
    copies === 0 ? null : `${count(copies, 'sweep')} with the same recorded runs as an earlier one left out`,
    alarmNote(noise.falseAlarms),
    leftOut === 0 ? null : `${count(leftOut, 'cell')} left out between two sweeps, because a real change lies there`,
    single === 0 ? null : `${count(single, 'cell')} with fewer than two runs in the newest sweep`,
    never.length === 0 ? null : unattainableText(never, wantPercent),
    beyond === 0
      ? null
      : `${count(beyond, 'cell')} would need more than ${MOST_REPEATS} runs a sweep to detect ${wantPercent} %`,
    restless === 0
      ? null
      : `${count(restless, 'cell')} of ${cells.length}: sweeps differ by more than the runs in them, so more repeats will not help much there`,
    cells.some(({ nightPercent }) => nightPercent !== null) ? null : 'sweep-to-sweep noise needs at least 8 sweeps',
    lucky === 0
      ? null
      : `${lucky} of ${count(builds.length, 'cell')}: builds of the same engine differ by more than their runs; \`engine: frozen\` keeps one build, \`builds:\` measures several`,
    provenance === 'recorded' ? 'recorded runs: how long they took on the GPU is not known here' : null,
    provenance !== 'recorded' && effort.cells > 0 && effort.now.gpuMinutes === null
      ? 'how long some runs took is not stored'
      : null,
  ].filter((note) => note !== null);
}

function alarmNote(falseAlarms: NoiseOutput['falseAlarms']): string | null {
  const { comparisons, ofComparisons } = headlineAlarms(falseAlarms).alarms;
  if (ofComparisons === null) {
    return 'for A/A comparisons: at least 4 repeats in a sweep, or two neighbouring sweeps of the same engines with 2 each (`repeats:` in the matrix, `bench run --repeats`)';
  }
  if (ofComparisons.ciPercent[0] > PROMISED_PERCENT) {
    return `more false alarms than the ${PROMISED_PERCENT} % of matrices that are promised`;
  }
  return comparisons >= ENOUGH_COMPARISONS
    ? null
    : `too little data: ${count(comparisons, 'comparison')} cannot rule out alarms in up to ${percentText(ofComparisons.ciPercent[1])} of matrices; more sweeps say more`;
}
