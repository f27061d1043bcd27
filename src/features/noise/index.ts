export { noiseOfCell } from './noise.ts';
