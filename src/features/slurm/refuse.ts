import { UsageError } from '../../errors.ts';

export interface MixedOptions {
  readonly executor?: 'local' | 'slurm';
  readonly resume?: string | true;
  readonly gpus?: unknown;
  readonly rebalance?: unknown;
  readonly untilSure?: unknown;
  readonly budget?: unknown;
  readonly confirm?: unknown;
  readonly slurmProfile?: string;
  readonly slurm?: readonly string[];
  readonly runDir?: string;
  readonly wait?: boolean;
  readonly collectJob?: boolean;
}

const ONLY_SLURM = ['slurmProfile', 'slurm', 'runDir', 'wait', 'collectJob'] as const;
/** They look at results while they come in, which nobody on a node can do, or at GPUs, which Slurm gives. */
const ONLY_LOCAL = ['untilSure', 'budget', 'confirm', 'resume', 'gpus', 'rebalance'] as const;

/** @throws UsageError for options of one executor together with the other */
export function refuseSlurmOptions(options: MixedOptions): void {
  const isSlurm = options.executor === 'slurm';
  const wrong = (isSlurm ? ONLY_LOCAL : ONLY_SLURM).find((name) => {
    const value = options[name];
    return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
  });
  if (wrong === undefined) return;
  const flag = `--${wrong.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new UsageError(
    isSlurm
      ? `${flag} does not go with --executor slurm${wrong === 'resume' ? ': write `bench slurm resume RUN`' : ''}`
      : `${flag} is for --executor slurm`,
  );
}
