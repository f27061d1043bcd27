import { EnvironmentLackingError } from '../../errors.ts';
import { type NsysDialect, nsysDialect } from './nsys-dialect.ts';
import { ask } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';

const TIMEOUT_MS = 30_000;

/** What Nsight Systems is here; null when there is none. Nothing is profiled. */
export async function askNsys(env: EnvironmentVariables): Promise<NsysDialect | null> {
  const version = await ask('nsys', ['--version'], { env, timeoutMs: TIMEOUT_MS });
  if (version.kind === 'missing') return null;
  const help = await ask('nsys', ['profile', '--help'], { env, timeoutMs: TIMEOUT_MS });
  if (version.kind === 'answered' && help.kind === 'answered') {
    return nsysDialect(version.text, help.text);
  }
  const refused = [version, help].find(({ kind }) => kind !== 'answered');
  const why = refused?.kind === 'refused' ? refused.problem : 'it gives no answer';
  throw new EnvironmentLackingError(`nsys does not work: ${why}`);
}
