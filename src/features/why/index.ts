export type { WhyPoint } from './why-sides.ts';
export { firstCauseOf, layersBetween } from './why-sides.ts';
