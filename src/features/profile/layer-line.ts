import { layerFactsOf } from '../../layers/layer-facts.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { parseTensorrtVersion } from '../../text/version.ts';
import { didYouMean } from '../../text/nearest.ts';
import { layerNcuArgs } from '../../tools/ncu/ncu-args.ts';
import type { Capture } from './capture.ts';
import type { OpenStore } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import type { ProfileOptions } from './command.ts';
import { fileName } from './steps.ts';
import { captureTarget, type CaptureTarget, engineInCache } from './target.ts';

/** The line of Nsight Compute for one layer. It is only shown: replaying kernels takes long, and root on most machines. */
export async function layerLine(
  name: string | undefined,
  layer: string | true,
  store: OpenStore | null,
  options: ProfileOptions,
  io: Io,
): Promise<Capture> {
  const target = await captureTarget(name, store, options, io);
  const cached = await engineInCache(target, store);
  const engine = target.build.enginePath ?? cached?.path ?? null;
  const model = fileName(target.cell.model);
  const chosen = layer === true ? hottest(target, store) : known(target, store, layer);
  const trtexec =
    options.trtexec ?? target.prepared?.program?.shownAs ?? target.measured?.stored.program.trtexec ?? 'trtexec';
  const is11 = (parseTensorrtVersion(target.tensorrt)?.major ?? 0) >= 11;
  const argv = layerNcuArgs(
    chosen,
    options.output ?? `${model}_layer`,
    is11,
    [trtexec],
    target.run.args,
    engine ?? `${model}.plan`,
  );
  return {
    cell: { key: target.cell.key, label: cellLabel(target.cell), tensorrt: target.tensorrt },
    nsysVersion: null,
    engine,
    steps: [{ kind: 'capture', variables: target.run.env, argv: ['ncu', ...argv] }],
    notes: [
      `Nsight Compute replays the kernels of ${chosen}; bench does not run it`,
      ...(target.cell.cudaGraph ? ['without a CUDA graph here: its launch is in the range of no layer'] : []),
    ],
    done: null,
  };
}

function layersOf({ cell }: CaptureTarget, store: OpenStore | null) {
  const engine = store === null ? null : profiledCell(store.db, cell, null, '');
  return engine === null ? [] : layerFactsOf(engine.layers);
}

function hottest(target: CaptureTarget, store: OpenStore | null): string {
  const [first] = layersOf(target, store).toSorted((a, b) => b.averageMs - a.averageMs);
  if (first !== undefined) return first.name;
  throw new UsageError(
    `no layers of ${printable(cellLabel(target.cell))} are known: \`bench run --profile\` takes them, or name one with --ncu LAYER`,
  );
}

/** A name that no profile has is taken as it is: nothing may be known of the layers. */
function known(target: CaptureTarget, store: OpenStore | null, layer: string): string {
  const names = layersOf(target, store).map(({ name }) => name);
  if (names.length === 0 || names.includes(layer)) return layer;
  const holding = names.filter((name) => name.includes(layer));
  const [only] = holding;
  if (only !== undefined && holding.length === 1) return only;
  throw new UsageError(
    holding.length > 1
      ? `${printable(layer)} is in the names of ${holding.length} layers: write more of it`
      : `no layer ${printable(layer)}${printable(didYouMean(layer, names))}; \`bench layers\` lists them`,
  );
}
