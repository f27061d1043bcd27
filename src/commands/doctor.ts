import { judgeMachine, lackingOf } from '../analyse/doctor/judge-machine.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { jsonText } from '../domain/printable.ts';
import { doctorJson, doctorText } from '../report/doctor-report.ts';
import { gatherFacts } from './doctor/gather.ts';
import { type Io, printLines } from './io.ts';
import { readMatrix } from './prepare.ts';
import { storePath } from './store-location.ts';

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
