import { judgeMachine, lackingOf } from './judge-machine.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { doctorText } from './text.ts';
import { gatherFacts } from './gather.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import type { DoctorOutput } from './output.ts';
import { readMatrix } from '../plan/index.ts';
import { storePath } from '../../cli/store-location.ts';
import type { DoctorOptions } from './command.ts';

const PATIENCE = { toolMs: 10_000, trtexecMs: 30_000 };

/** `bench doctor`: what of this machine keeps bench from measuring, or makes its numbers worth less. */
export async function doctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  const matrix = options.matrix === undefined ? null : readMatrix(options.matrix, io);
  const examined = { storePath: storePath(options.db, io), trtexec: options.trtexec, matrix };
  const facts = await gatherFacts(examined, PATIENCE, io);
  const checks = judgeMachine(facts);
  const ready = lackingOf(checks).length === 0;
  printResult<DoctorOutput>(io, options, { schemaVersion: 1, ready, checks }, (output, look) =>
    doctorText(output, facts.isReplay, look),
  );
  return ready ? EXIT_CODES.fine : EXIT_CODES.environmentLacking;
}
