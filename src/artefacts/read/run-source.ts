/** How layers are written where no log lies beside them. */
export const LAYER_FORMATS = ['trtexec', 'trace', 'trt-engine-explorer'] as const;

/** Where runs lie. */
export type RunSource =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'log'; readonly path: string }
  /** A file with reports of another harness than trtexec. */
  | { readonly kind: 'report'; readonly path: string; readonly driver: string }
  | { readonly kind: 'layers'; readonly path: string; readonly format: (typeof LAYER_FORMATS)[number] };

/** What the files that are read are of, where somebody says it: trtexec, a driver, or trt-engine-explorer. */
export const TRTEXEC = 'trtexec';
export const ENGINE_EXPLORER = 'trt-engine-explorer';
