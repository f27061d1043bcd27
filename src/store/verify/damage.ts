export const DAMAGE_KINDS = [
  'file',
  'foreignKey',
  'schema',
  'row',
  'samples',
  'layers',
  'noArtefacts',
  'artefactMissing',
  'artefactDamaged',
  'notStored',
  'engine',
  'variant',
  'leftover',
] as const;

export type DamageKind = (typeof DAMAGE_KINDS)[number];

/** Something that is not as it should be: what, where, what to do. */
export interface StoreDamage {
  readonly kind: DamageKind;
  /** The file, folder, table or run. */
  readonly where: string;
  readonly what: string;
  readonly advice: string;
}

/** Left by a process that is gone, or never there: of no harm. */
export function isHarmless({ kind }: StoreDamage): boolean {
  return kind === 'leftover' || kind === 'noArtefacts';
}
