export { attachOutput } from './output.ts';
export { attach } from './attach.ts';
