import type { EngineIdentity, ExplainedRun } from '../../layers/explained-run.ts';
import { buildDifferences } from '../../judge/compare/differences.ts';
import { newest, type WhySides } from './side-facts.ts';

/** Are two engines the same file? Null where nothing says it. */
export function sameEngine(a: EngineIdentity, b: EngineIdentity): boolean | null {
  if (a.sha256 !== null && b.sha256 !== null) return a.sha256 === b.sha256;
  if (a.buildId !== null && b.buildId !== null) return a.buildId === b.buildId;
  // Two machines may name different engines alike; one that is named otherwise is another.
  if (a.path !== null && b.path !== null && a.path !== b.path) return false;
  return null;
}

/** What of the engine's making is another, from base to head; none when its inputs are the same, as far as known. */
export function buildInputChanges(base: ExplainedRun, head: ExplainedRun): string[] {
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

/** Why the engines differ, in one line; null when they are the same, or nothing is known of them. */
export function engineRoot({ base, head, isSameCell }: WhySides): string | null {
  if (!isSameCell) return null;
  const [was, is] = [newest(base), newest(head)];
  if (was === null || is === null || sameEngine(was.engine, is.engine) === true) return null;
  const changes = buildInputChanges(was, is);
  if (changes.length > 0) return `the engine was built from other inputs: ${changes.join('; ')}`;
  const known = sameEngine(was.engine, is.engine) === false && was.engine.flags !== null && is.engine.flags !== null;
  return known
    ? 'the engine was rebuilt from the same inputs: the builder chose otherwise (build luck)'
    : 'the engine was built anew';
}
