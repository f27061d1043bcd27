import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../query-times.ts';
import { ExportFormatError } from './file-format-error.ts';
import { RowScanner } from './row-scanner.ts';

/**
 * Reads `--exportTimes` of TensorRT 7.0 to 11.x: an array of flat objects of numbers. Bytes are taken as they come,
 * so that a file of any size needs only the memory of its columns.
 */
export class TimesReader {
  private readonly scanner = new RowScanner();

  push(chunk: Buffer): void {
    this.scanner.push(chunk);
  }

  /** @throws ExportFormatError when the file is cut or is no such array */
  end(): QueryTimes {
    return normalize(this.scanner.end());
  }
}

/** Convenience for a file that is already in memory. */
export function parseTimes(bytes: Buffer): QueryTimes {
  const reader = new TimesReader();
  reader.push(bytes);
  return reader.end();
}

/** TensorRT 7 said In and Out for what is H2d and D2h since 8.0. */
const NAMES_7: Readonly<Record<string, QueryTimeColumn>> = {
  startInMs: 'startH2dMs',
  endInMs: 'endH2dMs',
  startOutMs: 'startD2hMs',
  endOutMs: 'endD2hMs',
  inMs: 'h2dMs',
  outMs: 'd2hMs',
};
/** 7.1 and 7.2 wrote the input stamps under the enqueue labels and the other way round. */
const SWAPPED_7: Readonly<Record<string, QueryTimeColumn>> = {
  startEnqMs: 'startH2dMs',
  endEnqMs: 'endH2dMs',
  startInMs: 'startEnqMs',
  endInMs: 'endEnqMs',
};

function normalize(columns: ReadonlyMap<string, Float64Array>): QueryTimes {
  const swapped = columns.has('startInMs') && columns.has('startEnqMs');
  const known = new Set<string>(QUERY_TIME_COLUMNS);
  const result: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  let count = 0;
  for (const [name, values] of columns) {
    const current = (swapped ? SWAPPED_7[name] : undefined) ?? NAMES_7[name] ?? name;
    count = values.length;
    if (isColumn(current, known)) result[current] = values;
  }
  if (count > 0 && result.computeMs === undefined) {
    throw new ExportFormatError('no "computeMs" in its rows: not a file of --exportTimes');
  }
  return { count, columns: result };
}

function isColumn(name: string, known: ReadonlySet<string>): name is QueryTimeColumn {
  return known.has(name);
}
