// Loaded together, when one of them is called.
export { cancel } from '../commands/slurm/cancel.ts';
export { collect } from '../commands/slurm/collect.ts';
export { resumeRun } from '../commands/slurm/resume-run.ts';
export { worker } from '../commands/slurm/worker.ts';
