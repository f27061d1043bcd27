export { type StartedProcess, processOf } from './processes.ts';
