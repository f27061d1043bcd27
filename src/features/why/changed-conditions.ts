import { environmentDifferences, buildDifferences } from '../../judge/compare/differences.ts';
import type { Cause } from '../../records/cause.ts';
import { type CauseDetector, type WhySides, cause, diffCommand, newest } from './context.ts';
import type { EngineIdentity, ExplainedRun } from '../../layers/explained-run.ts';

/**
 * Changed conditions that may be the cause but whose effect is unknown. They rank by how often such a change is the
 * cause, below evidence that explains most of the change.
 */
export const changedConditions: CauseDetector = ({ sides }) => {
  const [was, is] = [newest(sides.base), newest(sides.head)];
  if (was === null || is === null) return [];
  return [...(sides.isSameCell ? cellConditions(was, is) : cellsDiffer(sides)), ...machineConditions(was, is)];
};

function cellConditions(was: ExplainedRun, is: ExplainedRun): Cause[] {
  const causes: Cause[] = [];
  const inputs = buildInputChanges(was, is);
  if (inputs.includes(MODEL_CHANGED)) {
    causes.push(
      cause('model', null, {
        title: 'the model file changed',
        evidence: ['its content hash differs'],
        confirm: 'run the old model with the new build, or bench bisect --factors',
      }),
    );
  }
  const options = inputs.filter((change) => change.startsWith('build:'));
  const [gone, come] = [without(was.runFlags, is.runFlags), without(is.runFlags, was.runFlags)];
  if (gone.length + come.length > 0) {
    options.push(`run: ${gone.join(' ') || 'no flag'} → ${come.join(' ') || 'no flag'}`);
  }
  const [noted, notes] = [without(was.importNotes, is.importNotes), without(is.importNotes, was.importNotes)];
  if (noted.length + notes.length > 0) {
    options.push(`notes of the imports: ${quotedList(noted)} → ${quotedList(notes)}`);
  }
  if (options.length > 0) {
    const title = `options changed: ${options.join('; ')}`;
    causes.push(cause('options', null, { title, confirm: 'run once with the old options' }));
  }
  if (JSON.stringify(was.inputs) !== JSON.stringify(is.inputs)) {
    const title = 'the input data changed';
    causes.push(cause('inputs', null, { title, confirm: 'run with the old input files' }));
  }
  if (inputs.length === 0 && sameEngine(was.engine, is.engine) === false) {
    const isKnown = was.engine.flags !== null && is.engine.flags !== null;
    const [title, why] = isKnown
      ? ['the engine was rebuilt from the same inputs', 'the builder may choose other kernels each time (build luck)']
      : ['the engine is different', 'its build inputs are unknown on one side or both'];
    const confirm = 'run the old engine and the new one; measure build luck with several builds';
    causes.push(cause('engineBuild', null, { title, evidence: [why], confirm }));
  }
  return causes;
}

function cellsDiffer({ cellDifference, names }: WhySides): Cause[] {
  const title = `the cells differ by intent: ${cellDifference}`;
  return [cause('cellsDiffer', null, { title, confirm: `${diffCommand(names)} shows what that did to the engine` })];
}

function machineConditions(was: ExplainedRun, is: ExplainedRun): Cause[] {
  const machine = environmentDifferences(was.environment, is.environment);
  if (machine.length === 0) return [];
  return [
    cause(machine.some((change) => change.startsWith('GPU ')) ? 'gpu' : 'environment', null, {
      title: `environment: ${machine.join('; ')}`,
      confirm: 'run the same engine on the old machine or driver, or bench bisect --factors',
    }),
  ];
}

function quotedList(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ') || 'none';
}

function without(flags: readonly string[], others: readonly string[]): string[] {
  return flags.filter((flag) => !others.includes(flag));
}

/** Whether two engines are the same file; null if unknown. */
export function sameEngine(a: EngineIdentity, b: EngineIdentity): boolean | null {
  if (a.sha256 !== null && b.sha256 !== null) return a.sha256 === b.sha256;
  if (a.buildId !== null && b.buildId !== null) return a.buildId === b.buildId;
  // Two machines may give different engines the same name, so that only different names prove something.
  return a.path !== null && b.path !== null && a.path !== b.path ? false : null;
}

const MODEL_CHANGED = 'the model changed';

/** Differences between the inputs of the two builds, from base to head. Empty if the known inputs are equal. */
function buildInputChanges(base: ExplainedRun, head: ExplainedRun): string[] {
  const [a, b] = [base.engine, head.engine];
  const changes = buildDifferences({ ...a, flags: a.flags ?? [] }, { ...b, flags: b.flags ?? [] });
  const [was, is] = [base.environment.tensorrt, head.environment.tensorrt];
  return [
    ...changes.filter((change) => change === MODEL_CHANGED || (a.flags !== null && b.flags !== null)),
    ...(was !== null && is !== null && was !== is ? [`TensorRT ${was} → ${is}`] : []),
  ];
}

/** Why the engines differ, in one line; null when they are equal, or nothing is known. */
export function engineRoot({ base, head, isSameCell }: WhySides): string | null {
  const [was, is] = [newest(base), newest(head)];
  if (!isSameCell || was === null || is === null || sameEngine(was.engine, is.engine) === true) return null;
  const changes = buildInputChanges(was, is);
  return changes.length > 0
    ? `the engine was built from other inputs: ${changes.join('; ')}`
    : 'the engine was rebuilt from the same known inputs: the builder chose differently (build luck)';
}
