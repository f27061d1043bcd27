import { EngineCache } from '../../engines/engine-cache.ts';
import { artefactsFolderOf, enginesFolderOf } from '../../artefacts/layout.ts';
import { BenchError, UsageError } from '../../errors.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { filledArgs } from '../../engines/engine-state.ts';
import { provideEngine } from '../../engines/provide-engine.ts';
import { overlay } from '../../run/start.ts';
import { lockSweep } from '../../run/sweep-lock.ts';
import { Variants } from '../../variants/sweep-variants.ts';
import { captureArgs, type CaptureRequest } from '../../tools/nsys/nsys-args.ts';
import type { NsysDialect } from '../../tools/nsys/nsys-dialect.ts';
import { outcomeText } from '../../terminal/words.ts';
import { runNsys } from '../../tools/nsys/run-nsys.ts';
import type { TrtexecProgram } from '../../trtexec/program/find-trtexec.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { converterFor } from '../../variants/converter.ts';
import type { Io } from '../../cli/io.ts';
import { openWorkers } from '../../run/gpu-worker.ts';
import { LiveProgress } from '../../cli/live-progress.ts';
import { machineOf } from '../../machine/machine.ts';
import type { CaptureTarget } from './target.ts';

export class CaptureError extends BenchError {
  override readonly name = 'CaptureError';
  readonly exitCode = EXIT_CODES.incomplete;
  private readonly lastWords: readonly string[];

  constructor(problem: string, lastWords: readonly string[]) {
    super(problem);
    this.lastWords = lastWords;
  }

  override get lines(): readonly string[] {
    return [this.message, ...this.lastWords.map((line) => `  ${line}`)];
  }
}

/**
 * Builds the engine of a cell unless it is cached, and captures only its queries. The build belongs to the sweep that
 * measured the cell. The capture is not a run, so no statistic uses it.
 * @returns the path of the engine
 */
export async function captureCell(
  target: CaptureTarget,
  request: CaptureRequest,
  dialect: NsysDialect,
  program: TrtexecProgram,
  store: OpenStore,
  io: Io,
) {
  const { measured, plan } = target;
  if (measured === null) {
    throw new UsageError(
      'this cell was never measured here: measure it first; a capture is attached to a measured run (bench run MATRIX --filter ...)',
    );
  }
  const { sweep } = measured;
  const unlock = lockSweep(artefactsFolderOf(store.path), sweep.sweepId);
  const progress = new LiveProgress({ ...plan, runs: [] }, program, io);
  const cache = new EngineCache(enginesFolderOf(store.path));
  try {
    const machine = await machineOf(program, io);
    if (machine.note !== null) progress.take({ kind: 'note', text: machine.note });
    const settings = { telemetry: false, coolDown: null, numa: 'off' } as const;
    const own = plan.variants.filter(({ variantRef }) => variantRef === target.build.variantRef);
    const converter = await converterFor({ variants: own }, null, io);
    const opened = { sweep, plan, program, converter, machines: [machine] as const, settings, cache };
    const [worker] = await openWorkers(store, opened, io, (event) => progress.take(event));
    const context = { ...worker, mayChangeEngines: true };
    const state = await provideEngine(context, target.build, new Variants(context));
    if (state.kind === 'failed') {
      throw new CaptureError(`no engine to capture: ${outcomeText(state.outcome, io.errLook.style)}`, []);
    }
    const { engine } = state;
    io.err(`capturing ${request.iterations} queries of ${printable(target.build.label)}\n`);
    const args = captureArgs(
      request,
      dialect,
      [program.file, ...program.prefixArgs],
      filledArgs(target.run.args, { engine: engine.path, variant: engine.variantPath }),
      engine.path,
    );
    const env = { ...worker.program.env, ...overlay(target.run.env) };
    const place = { spawn: worker.spawn, env, cwd: io.cwd, signal: io.signal };
    const failure = await runNsys(place, args, `${request.output}.nsys-rep`);
    if (failure !== null) {
      throw new CaptureError(`nsys captured nothing: ${failure.exit}`, failure.lastWords);
    }
    return engine.path;
  } finally {
    progress.end();
    cache.uses.release();
    unlock();
  }
}
