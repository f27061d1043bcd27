/** What `bench export` writes. */
export const EXPORT_FORMATS = ['chrome-trace', 'perfetto', 'triton-config'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];
