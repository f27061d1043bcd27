import { EnvironmentLackingError } from '../../errors.ts';
import { type Answer, ask } from '../../process/ask.ts';
import { definedVariables, type EnvironmentVariables } from '../../process/environment-variables.ts';
import { printable } from '../../text/printable.ts';
import { parseSacct, parseSqueue, SACCT_FORMAT, SQUEUE_FORMAT, type TaskRow } from './states.ts';

/** An unreachable controller delays each command by 9 to 18 s. */
const PATIENCE_MS = 120_000;
const DEFAULT_MAX_ARRAY = 1001;

/** An unreachable controller counts as a refusal. */
type SlurmReply = Extract<Answer, { readonly kind: 'answered' | 'refused' }>;

/**
 * Runs Slurm's commands with argument lists, without a shell, and without the user's settings in the environment. Its
 * signal aborts queries; commands that change something always finish.
 */
export function slurmClient(io: { readonly env: EnvironmentVariables; readonly signal: AbortSignal }) {
  const env = slurmEnvironment(io.env);

  /** @throws EnvironmentLackingError if the command is not installed */
  async function run(file: string, args: readonly string[], signal?: AbortSignal): Promise<SlurmReply> {
    const answer = await ask(file, args, { env, timeoutMs: PATIENCE_MS, ...(signal && { signal }) });
    signal?.throwIfAborted();
    if (answer.kind === 'missing') {
      throw new EnvironmentLackingError(
        `${file} not found: Slurm's commands are not on this machine (PATH); start bench on a login node of the cluster, or measure here without --executor slurm`,
      );
    }
    if (answer.kind !== 'silent') return answer;
    const stderr = `${file}: error: Socket timed out`;
    return { kind: 'refused', problem: stderr, exitCode: null, signal: null, text: '', stderr };
  }

  return {
    run,

    /** @throws EnvironmentLackingError without Slurm, or if its controller does not answer */
    async maxArraySize(cluster: string | null): Promise<number> {
      const { kind, stderr, text } = await run('scontrol', [...ofCluster(cluster), 'show', 'config']);
      const problem = `Slurm does not answer: ${lastWords(stderr)}; look with \`scontrol ping\``;
      if (kind === 'refused') throw new EnvironmentLackingError(problem);
      return Number(/^\s*MaxArraySize\s*=\s*(\d+)\s*$/m.exec(text)?.[1]) || DEFAULT_MAX_ARRAY;
    },

    /** All tasks of these arrays that the controller still lists; a text says why it cannot be asked. */
    async queue(jobIds: readonly string[], cluster: string | null): Promise<TaskRow[] | string> {
      const args = [...ofCluster(cluster), '-h', '-r', '-t', 'all', '-j', jobIds.join(','), '-O', SQUEUE_FORMAT];
      const reply = await run('squeue', args, io.signal).catch((error: unknown) => {
        if (error instanceof EnvironmentLackingError) return null;
        throw error;
      });
      // Shards can be collected on any machine with access to the folder.
      if (reply === null) return 'squeue is not on this machine';
      if (reply.kind === 'answered') return parseSqueue(reply.text);
      return /invalid job id/i.test(reply.stderr) ? [] : lastWords(reply.stderr);
    },

    /**
     * The ID of the array with a token, if Slurm accepted it.
     * @returns null if there is none
     */
    async jobOfToken(token: string, cluster: string | null): Promise<string | null> {
      const which = ['--me', '-t', 'all', '-h', '-o', '%F|%k'];
      const { text } = await run('squeue', [...ofCluster(cluster), ...which]);
      const line = text.split('\n').find((row) => row.trim().endsWith(`|${token}`));
      return /^\s*(\d+)\|/.exec(line ?? '')?.[1] ?? null;
    },

    /** Ended jobs according to accounting; empty without accounting. */
    async past(jobIds: readonly string[], since: string, cluster: string | null): Promise<readonly TaskRow[]> {
      const which = ['-n', '-X', '-P', '-j', jobIds.join(','), '-S', since, '-o', SACCT_FORMAT];
      const reply = await run('sacct', [...ofCluster(cluster), ...which], io.signal).catch(() => null);
      io.signal.throwIfAborted();
      return reply?.kind === 'answered' ? parseSacct(reply.text) : [];
    },

    cancel: (targets: readonly string[], cluster: string | null) => run('scancel', [...ofCluster(cluster), ...targets]),
  };
}

function ofCluster(cluster: string | null): string[] {
  return cluster === null ? [] : ['-M', cluster];
}

/** Keeps the choice of the cluster; all other variables would change the request. */
const KEPT = new Set(['SLURM_CONF', 'SLURM_CLUSTERS', 'SLURM_JWT']);
const DROPPED = /^(?:SBATCH|SLURM|SQUEUE|SACCT|SCANCEL|SCONTROL|SINFO|SALLOC|SRUN)_/;

function slurmEnvironment(env: EnvironmentVariables): Record<string, string> {
  const kept = Object.entries(definedVariables(env)).filter(([name]) => KEPT.has(name) || !DROPPED.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

export type JobId = Readonly<NonNullable<ReturnType<typeof parseJobId>>>;

/** Parses the output of `sbatch --parsable`; site filters may print lines before it. Null without an id. */
export function parseJobId(stdout: string) {
  const last = stdout.split('\n').findLast((line) => line.trim() !== '') ?? '';
  const [, jobId, cluster = null] = /^(\d+)(?:;([\w.-]+))?$/.exec(last.trim()) ?? [];
  return jobId === undefined ? null : { jobId, cluster };
}

const PASSING = [
  /unable to contact slurm controller/i,
  /socket timed out/i,
  /resource temporarily unavailable/i,
  /QOSMaxSubmit/i,
  /AssocMaxSubmit/i,
  /slurm temporarily unable to accept job/i,
  /connection (?:refused|timed out|reset)/i,
  /zero bytes were transmitted or received/i,
  /unable to connect to|communication (?:connection )?failure/i,
];

/** The controller did not answer, or takes no jobs now: later it may. */
export function isPassing(stderr: string): boolean {
  return PASSING.some((pattern) => pattern.test(stderr));
}

export function lastWords(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const last = lines.findLast((line) => /error:/.test(line)) ?? lines.findLast(Boolean) ?? '';
  return printable(last.replace(/^\w+: (?:error: )?/, '')).slice(0, 300);
}
