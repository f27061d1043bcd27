/** A piece of time on a track, in milliseconds from the beginning of the trace. */
export interface TraceSlice {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** Slices one behind the other: none begins before the one before it has ended. */
export interface TraceTrack {
  readonly name: string;
  readonly count: number;
  /** May be called more than once; large runs are never held as objects. */
  readonly slices: () => Iterable<TraceSlice>;
}

export interface TraceGroup {
  readonly name: string;
  readonly tracks: readonly TraceTrack[];
}

/** What viewers of traces show: groups of tracks. */
export interface Trace {
  readonly facts: Readonly<Record<string, string>>;
  readonly groups: readonly TraceGroup[];
}
