import type { LayerKind } from '../layers/layer-facts.ts';

/** What layers are for, to be read. */
export const PURPOSE_WORDS: Readonly<Record<LayerKind, string>> = {
  compute: "the network's own work",
  reformat: 'copies between formats',
  cast: 'casts',
  shape: 'shape work',
};
