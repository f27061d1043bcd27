/** Which number of a run counts: the centre of its samples, or what it printed of them. */
export type ValueKind = 'centre' | 'printed';
