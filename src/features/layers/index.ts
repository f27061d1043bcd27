export { CHANGE_WORDS } from './diff-text.ts';
export { kernelsIfAny } from './kernels-of-file.ts';
export { type KernelsReport, capturedJson, kernelsText } from './kernels-text.ts';
