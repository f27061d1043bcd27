declare module 'asciichart' {
  interface PlotConfig {
    readonly min?: number;
    readonly max?: number;
    readonly height?: number;
    readonly offset?: number;
    readonly symbols?: readonly string[];
    readonly format?: (value: number, index: number) => string;
  }

  const asciichart: { plot(series: readonly (readonly number[])[], config?: PlotConfig): string };
  export default asciichart;
}
