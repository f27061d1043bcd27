export { firstCauseOf } from './explain-change.ts';
export { layersBetween } from './why-sides.ts';
