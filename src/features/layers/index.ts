export { CHANGE_WORDS, layersDiffText } from './diff-text.ts';
export { type KernelsReport, kernelsText } from './kernels-text.ts';
export { capturedOutput, kernelsIfAny } from './layer-kernels.ts';
export { captured } from './output.ts';
export { layersDiffOutput, layerTable } from './layers.ts';
export { selectLayers } from './select-layers.ts';
