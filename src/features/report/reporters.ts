import { resolve } from 'node:path';

import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { loadModule } from '../../cli/load-module.ts';
import { MatrixError, UsageError } from '../../errors.ts';
import { calledWithApi, plugInProblem } from '../../harnesses/plug-in.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { printable } from '../../text/printable.ts';
import { matrixOfSweep, placesOf } from '../check/index.ts';
import type { ReportedSweep } from '../export/index.ts';

export interface Reporter {
  /** What `--reporter` asks for. */
  readonly name: string;
  readonly render: (report: ReportedSweep) => string | Promise<string>;
}

const reporterShape = z.object({ name: z.string().min(1), render: z.custom<Reporter['render']>(isFunction) });

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

/** The reporters that the matrix of a sweep names. @throws MatrixError for one that cannot be loaded */
export async function reportersOf(db: StoreDatabase, sweep: Sweep, io: Io): Promise<readonly Reporter[]> {
  const matrix = matrixOfSweep(db, sweep, await placesOf(io), io);
  return (matrix?.reporters ?? []).map(({ value, at }) => {
    try {
      return reporterShape.parse(calledWithApi(loadModule(value, resolve(io.cwd, at.file))));
    } catch (error) {
      const problem = printable(`reporters: ${value}: ${plugInProblem(error)}`);
      throw new MatrixError([{ at, problem }], { cause: error });
    }
  });
}

/** @throws UsageError when there is none of this name, or it fails */
export async function rendered(name: string, reporters: readonly Reporter[], gathered: ReportedSweep): Promise<string> {
  const found = reporters.find((reporter) => reporter.name === name);
  if (found === undefined) {
    const names = reporters.map((reporter) => printable(reporter.name)).join(', ');
    throw new UsageError(
      `--reporter ${printable(name)}: ${names === '' ? 'the matrix of this sweep names none under reporters:, or does not lie in this folder or its repository' : `the matrix has ${names}`}`,
    );
  }
  try {
    return z.string().parse(await found.render(gathered));
  } catch (error) {
    throw new UsageError(`reporter ${printable(name)}: ${printable(plugInProblem(error))}`, { cause: error });
  }
}
