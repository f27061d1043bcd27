export { CHANGE_WORDS } from './diff-text.ts';
export { type KernelsReport, kernelsText } from './kernels-text.ts';
export { capturedOutput, kernelsIfAny } from './layer-kernels.ts';
export { captured } from './output.ts';
