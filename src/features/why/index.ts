export { firstCauseOf } from './explain-change.ts';
export { layersBetween, type WhyPoint } from './why-sides.ts';
