export { gpusFacts } from './gather.ts';
