// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { ack } from '../commands/ack.ts';
export { check } from '../commands/check.ts';
export { compare } from '../commands/compare.ts';
export { noise } from '../commands/noise.ts';
export { pareto } from '../commands/pareto.ts';
export { slo } from '../commands/slo.ts';
export { trend } from '../commands/trend.ts';
export { rejudge } from '../commands/rejudge.ts';
export { sweeps } from '../commands/sweeps.ts';
export { cells } from '../commands/cells.ts';
export { setNamed, listAll, removeNamed } from '../commands/baseline.ts';
