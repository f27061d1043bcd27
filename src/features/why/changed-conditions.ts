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
  const causes: Cause[] = [];
  const { isSameCell } = sides;
  const inputs = isSameCell ? buildInputChanges(was, is) : [];
  if (inputs.includes('the model changed')) {
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
  if (isSameCell && gone.length + come.length > 0) {
    options.push(`run: ${gone.join(' ') || 'no flag'} → ${come.join(' ') || 'no flag'}`);
  }
  const [noted, notes] = [without(was.importNotes, is.importNotes), without(is.importNotes, was.importNotes)];
  if (isSameCell && noted.length + notes.length > 0) {
    options.push(`notes of the imports: ${quotedList(noted)} → ${quotedList(notes)}`);
  }
  if (options.length > 0) {
    const title = `options changed: ${options.join('; ')}`;
    causes.push(cause('options', null, { title, confirm: 'run once with the old options' }));
  }
  if (isSameCell && JSON.stringify(was.inputs) !== JSON.stringify(is.inputs)) {
    const title = 'the input data changed';
    causes.push(cause('inputs', null, { title, confirm: 'run with the old input files' }));
  }
  if (!isSameCell) {
    const title = `the cells differ by intent: ${sides.cellDifference}`;
    const confirm = `${diffCommand(sides.names)} shows what that did to the engine`;
    causes.push(cause('cellsDiffer', null, { title, confirm }));
  }
  const machine = environmentDifferences(was.environment, is.environment);
  if (machine.length > 0) {
    causes.push(
      cause(machine.some((change) => change.startsWith('GPU ')) ? 'gpu' : 'environment', null, {
        title: `environment: ${machine.join('; ')}`,
        evidence: machine.length > 1 ? machine : [],
        confirm: 'run the same engine on the old machine or driver, or bench bisect --factors',
      }),
    );
  }
  if (isSameCell && inputs.length === 0 && sameEngine(was.engine, is.engine) === false) {
    const isKnown = was.engine.flags !== null && is.engine.flags !== null;
    const [title, why] = isKnown
      ? ['the engine was rebuilt from the same inputs', 'the builder may choose other kernels each time (build luck)']
      : ['the engine is different', 'its build inputs are unknown on one side or both'];
    const confirm = 'run the old engine and the new one; measure build luck with several builds';
    causes.push(cause('engineBuild', null, { title, evidence: [why], confirm }));
  }
  return causes;
};

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
  if (a.path !== null && b.path !== null && a.path !== b.path) return false;
  return null;
}

/** Differences between the inputs of the two builds, from base to head. Empty if the known inputs are equal. */
function buildInputChanges(base: ExplainedRun, head: ExplainedRun): string[] {
  const [a, b] = [base.engine, head.engine];
  const changes = buildDifferences(
    { modelSha256: a.modelSha256, flags: a.flags ?? [] },
    { modelSha256: b.modelSha256, flags: b.flags ?? [] },
  ).filter((change) => !change.startsWith('build:') || (a.flags !== null && b.flags !== null));
  const [was, is] = [base.environment, head.environment];
  if (was.tensorrt !== null && is.tensorrt !== null && was.tensorrt !== is.tensorrt) {
    changes.push(`TensorRT ${was.tensorrt} → ${is.tensorrt}`);
  }
  return changes;
}

/** Why the engines differ, in one line; null when they are equal, or nothing is known. */
export function engineRoot({ base, head, isSameCell }: WhySides): string | null {
  if (!isSameCell) return null;
  const [was, is] = [newest(base), newest(head)];
  if (was === null || is === null || sameEngine(was.engine, is.engine) === true) return null;
  const changes = buildInputChanges(was, is);
  if (changes.length > 0) return `the engine was built from other inputs: ${changes.join('; ')}`;
  const known = sameEngine(was.engine, is.engine) === false && was.engine.flags !== null && is.engine.flags !== null;
  return known
    ? 'the engine was rebuilt from the same inputs: the builder chose differently (build luck)'
    : 'the engine was rebuilt';
}
