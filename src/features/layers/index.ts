export { CHANGE_WORDS } from './diff-text.ts';
export { type KernelsReport, capturedOutput, kernelsIfAny } from './kernels-of-file.ts';
export { kernelsText } from './kernels-text.ts';
export { captured } from './output.ts';
