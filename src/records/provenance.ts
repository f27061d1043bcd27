/**
 * Where a result comes from. Results of different provenance are never compared or charted together
 * unless that is asked for by name.
 */
export const PROVENANCES = ['measured', 'recorded', 'simulated', 'imported'] as const;

export type Provenance = (typeof PROVENANCES)[number];
