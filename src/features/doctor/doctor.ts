import { judgeMachine, lackingOf } from './judge-machine.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { doctorJson, doctorText } from './text.ts';
import { gatherFacts } from './gather.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { readMatrix } from '../plan/index.ts';
import { storePath } from '../../cli/store-location.ts';

export interface DoctorOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly matrix?: string;
  readonly trtexec?: string;
}

const PATIENCE = { toolMs: 10_000, trtexecMs: 30_000 };

/** `bench doctor`: what of this machine keeps bench from measuring, or makes its numbers worth less. */
export async function doctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  const matrix = options.matrix === undefined ? null : readMatrix(options.matrix, io);
  const examined = { storePath: storePath(options.db, io), trtexec: options.trtexec, matrix };
  const facts = await gatherFacts(examined, PATIENCE, io);
  const checks = judgeMachine(facts);
  const report = { checks, lacking: lackingOf(checks), isReplay: facts.isReplay };
  if (options.json === true) io.out(`${jsonText(doctorJson(report))}\n`);
  else printLines(io, doctorText(report, io.look));
  return report.lacking.length > 0 ? EXIT_CODES.environmentLacking : EXIT_CODES.fine;
}
