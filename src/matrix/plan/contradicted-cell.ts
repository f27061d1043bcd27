import type { Cell } from '../../records/cell.ts';
import type { TrtexecRun } from '../../trtexec/log/parsed-log.ts';
import { cellOfRun, type StatedCell } from '../../trtexec/cell-of-run.ts';

type SaidCell = Partial<Pick<Cell, 'cudaGraph' | 'dataTransfers' | 'spinWait' | 'streams'>> &
  Pick<StatedCell, 'shapes'>;

/**
 * The first thing that `run.json` says of its cell and that its log says otherwise, in words; null when there is none.
 * What one of them leaves open contradicts nothing.
 */
export function contradictedCell(stated: SaidCell, log: TrtexecRun): string | null {
  const ran = cellOfRun({}, null, log);
  const pairs: readonly (readonly [name: string, said: Said, ran: Said])[] = [
    ...Object.entries(stated.shapes ?? {}).map(
      ([input, shape]) => [input, shape.join('x'), ran.shapes[input]?.join('x')] as const,
    ),
    ['CUDA graph', stated.cudaGraph, ran.cudaGraph],
    ['data transfers', stated.dataTransfers, ran.dataTransfers],
    ['spin wait', stated.spinWait, ran.spinWait],
    // An excerpt without its options says nothing of streams.
    ['streams', stated.streams, log.startedByMarker ? ran.streams : log.options.streams],
  ];
  for (const [name, said, used] of pairs) {
    if (said === undefined || said === null || used === undefined || used === null) continue;
    if (said !== used) {
      return `the cell in run.json says ${name}: ${wordOf(said)}, its log ${wordOf(used)}: it is of another run`;
    }
  }
  return null;
}

type Said = boolean | number | string | null | undefined;

function wordOf(said: boolean | number | string): string {
  return typeof said === 'boolean' ? (said ? 'on' : 'off') : String(said);
}

/** Ids of engines that bench made. */
const ID = /^[0-9a-f]{32}$/;

/**
 * One line where the name of the model in `run.json` and that of the file in its log have nothing in common: names are
 * free, so that it need not be wrong.
 */
export function otherModel({ model }: Pick<StatedCell, 'model'>, log: TrtexecRun): string | null {
  const loaded = log.options.loadEngine ?? log.options.onnx;
  const [said, ran] = [plainWord(model ?? ''), plainWord(cellOfRun({}, null, log).model)];
  if (loaded === null || said === '' || ID.test(ran)) return null;
  if (said.includes(ran) || ran.includes(said)) return null;
  return `the cell in run.json says model ${model}, its log loads ${loaded}: it may be of another run`;
}

function plainWord(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}
