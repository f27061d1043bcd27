export { budgetNote, fittedPlan } from './budget.ts';
export { startSweep } from './run.ts';
