export { CHANGE_WORDS } from './diff-text.ts';
export { kernelsText, readKernels, selectLayers } from './layer-kernels.ts';
export { captured } from './output.ts';
export { layerTable } from './layers.ts';
