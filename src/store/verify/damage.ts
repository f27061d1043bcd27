import * as z from 'zod';

const DAMAGE_KINDS = [
  'file',
  'foreignKey',
  'schema',
  'row',
  'otherParser',
  'noArtefacts',
  'artefactMissing',
  'artefactDamaged',
  'notStored',
  'engine',
  'variant',
  'leftover',
] as const;

/** A defect: what, where (the file, folder, table or run), and what to do. */
export const storeDamage = z.strictObject({
  kind: z.enum(DAMAGE_KINDS),
  where: z.string(),
  what: z.string(),
  advice: z.string(),
});

export type StoreDamage = Readonly<z.infer<typeof storeDamage>>;

/** Left by a dead process, never created, or read in another way by another version: no damage. */
export function isHarmless({ kind }: StoreDamage): boolean {
  return kind === 'leftover' || kind === 'noArtefacts' || kind === 'otherParser';
}
