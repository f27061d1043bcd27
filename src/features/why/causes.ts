import type { Cause } from '../../records/cause.ts';

/**
 * All causes with their kind, certainty and rank. The rank of a shown cause counts for each percent of the change that
 * it explains; other ranks are absolute. A cause that explains most of a change ranks above a condition that only
 * changed. Conditions rank by how often such a change is the cause.
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

/** Ranks above an engine that was only built again, and below changed options. */
const OTHER_CELL_RANK = CAUSES.engineBuild[2] + 1;

interface CauseText {
  readonly title: string;
  readonly evidence?: readonly string[];
  readonly gainedPercent?: number | null;
  /** How to confirm the cause. */
  readonly confirm: string;
}

/** @param explainsPercent share of the change that the cause explains; null if unknown */
export function cause(name: keyof typeof CAUSES, explainsPercent: number | null, text: CauseText): Cause {
  const [kind, certainty, rank] = CAUSES[name];
  const { title, evidence = [], gainedPercent = null, confirm } = text;
  const weight = Math.min(100, explainsPercent ?? 1);
  return { kind, certainty, title, evidence, explainsPercent, gainedPercent, confirm, rank: rank * weight };
}

/** The profile of another batch may behave differently, so the cause is only possible. */
export function seenInOtherCell(seen: Cause, otherCell: string): Cause {
  return {
    ...uncounted(seen),
    title: `${seen.title} (by the profile of ${otherCell})`,
    evidence: [`this cell has no profile on both sides: seen in ${otherCell}`, ...seen.evidence],
    confirm: 'bench run --profile, which profiles this cell too',
  };
}

/** A cause that the layers show, while their times in this cell are unknown. */
export function uncounted(seen: Cause): Cause {
  const rank = OTHER_CELL_RANK + seen.rank / 10;
  return { ...seen, certainty: 'possible', explainsPercent: null, gainedPercent: null, rank };
}
