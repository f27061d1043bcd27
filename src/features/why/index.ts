export type { WhyPoint } from './why-sides.ts';
export { firstCauseOf } from './why-sides.ts';
