// Loaded together, when one of them is called.
export { cancel } from '../features/slurm/cancel.ts';
export { collect } from '../features/slurm/collect-command.ts';
export { resumeRun } from '../features/slurm/resume-run.ts';
export { worker } from '../features/slurm/worker.ts';
