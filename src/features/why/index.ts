export type { WhyPoint } from './why-sides.ts';
export { firstCauseOf, layersBetween, missingProfiles } from './why-sides.ts';
