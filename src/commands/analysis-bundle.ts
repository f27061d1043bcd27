// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { ack } from '../features/ack/ack.ts';
export { check } from '../features/check/check.ts';
export { compare } from '../features/compare/compare.ts';
export { noise } from '../features/noise/noise.ts';
export { pareto } from '../features/choose/pareto.ts';
export { slo } from '../features/choose/slo-command.ts';
export { trend } from '../features/trend/trend.ts';
export { rejudge } from '../features/db/rejudge.ts';
export { sweeps } from '../features/ls/sweeps.ts';
export { cells } from '../features/ls/cells.ts';
export { setNamed, listAll, removeNamed } from '../features/baseline/baseline.ts';
