// Loaded together, when one of them is called.
export { attach } from '../commands/attach.ts';
export { explainRun } from '../commands/explain-run.ts';
export { profile } from '../commands/profile/profile.ts';
