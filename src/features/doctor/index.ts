export { gpusFacts } from './gpus.ts';
