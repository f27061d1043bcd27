import type { Cause } from '../../records/cause.ts';

/**
 * Every cause that is named, with its rank: for each percent of the change that it accounts for, or the whole rank of one
 * of which that cannot be counted. What accounts for most of a change ranks above what only changed; the latter are
 * ranked by how often such a change is the cause.
 */
const CAUSES = {
  graphNotCaptured: ['graphNotCaptured', 'shown', 1],
  contention: ['contention', 'shown', 0.99],
  hostBound: ['hostBound', 'shown', 0.98],
  thermal: ['thermal', 'shown', 0.97],
  powerCap: ['powerLimit', 'shown', 0.97],
  smClock: ['clocks', 'shown', 0.97],
  transfers: ['transfers', 'shown', 0.96],
  tactics: ['tactics', 'shown', 0.95],
  fusion: ['fusion', 'shown', 0.95],
  precision: ['precision', 'shown', 0.95],
  enqueueBound: ['enqueueBound', 'shown', 0.94],
  nearEnqueueBound: ['enqueueBound', 'likely', 0.94],
  memoryClock: ['clocks', 'likely', 0.9],
  unrecordedClock: ['clocks', 'possible', 0.9],
  otherProcess: ['contention', 'likely', 72],
  gpu: ['environment', 'possible', 66],
  model: ['model', 'possible', 62],
  options: ['options', 'possible', 58],
  inputs: ['inputs', 'possible', 55],
  environment: ['environment', 'possible', 52],
  lowerPowerLimit: ['powerLimit', 'possible', 48],
  engineBuild: ['engineBuild', 'possible', 45],
  cellsDiffer: ['options', 'possible', 40],
} as const satisfies Readonly<Record<string, readonly [Cause['kind'], Cause['certainty'], number]>>;

/** Above an engine of which no more is known than that it was built again, below options that changed. */
const OTHER_CELL_RANK = CAUSES.engineBuild[2] + 1;

interface CauseText {
  readonly title: string;
  readonly evidence?: readonly string[];
  readonly gainedPercent?: number | null;
  /** What would confirm it. */
  readonly confirm: string;
}

/** @param explainsPercent share of the change that it accounts for; null where that cannot be counted */
export function cause(name: keyof typeof CAUSES, explainsPercent: number | null, text: CauseText): Cause {
  const [kind, certainty, rank] = CAUSES[name];
  const { title, evidence = [], gainedPercent = null, confirm } = text;
  const weight = Math.min(100, explainsPercent ?? 1);
  return { kind, certainty, title, evidence, explainsPercent, gainedPercent, confirm, rank: rank * weight };
}

/** A profile of another batch may or may not behave in the same way. */
export function seenInOtherCell(seen: Cause, otherCell: string): Cause {
  return {
    ...uncounted(seen),
    title: `${seen.title} (by the profile of ${otherCell})`,
    evidence: [`this cell has no profile on both sides: seen in ${otherCell}`, ...seen.evidence],
    confirm: 'bench run --profile, which profiles this cell too',
  };
}

/** Seen in the layers, of which nobody knows how long they take in this cell. */
export function uncounted(seen: Cause): Cause {
  const rank = OTHER_CELL_RANK + seen.rank / 10;
  return { ...seen, certainty: 'possible', explainsPercent: null, gainedPercent: null, rank };
}
