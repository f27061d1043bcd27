import type { Environment } from '../../records/environment.ts';
import { buildDifferences, type ComparedBuild, environmentDifferences, lockDifference } from './differences.ts';

/** Differences that make two sides incomparable, unless they are asked for by name. */
export interface Across {
  readonly provenance: boolean;
  readonly gpu: boolean;
  readonly tensorrt: boolean;
  readonly clocks: boolean;
}

interface MadeOn {
  readonly environment: Environment | null;
  readonly build: ComparedBuild | null;
}

interface Differences {
  /** Of the machine: hardware, clocks, driver and libraries. */
  readonly machine: readonly string[];
  /** Of the engine's making. */
  readonly build: readonly string[];
  readonly problem: string | null;
  readonly overridden: readonly string[];
}

/** What differs between two sides of a cell, and whether that keeps them from being compared. */
export function differencesOf(a: MadeOn, b: MadeOn, across: Across): Differences {
  const [before, after] = [a.environment, b.environment];
  const found = before === null || after === null ? [] : obstacles(before, after);
  const open = found.find(({ name }) => !across[name]);
  const overridden = found.filter(({ name }) => across[name]).map(({ text }) => text);
  const others = before === null || after === null ? [] : environmentDifferences(before, after);
  return {
    machine: [...new Set([...overridden, ...others])],
    build: buildDifferences(a.build, b.build),
    problem: open === undefined ? null : `${open.text}: compare them all the same with --across-${open.name}`,
    overridden,
  };
}

interface Obstacle {
  readonly name: Exclude<keyof Across, 'provenance'>;
  readonly text: string;
}

/** Differences of machines whose results must not be compared unawares. */
function obstacles(before: Environment, after: Environment): Obstacle[] {
  const found: Obstacle[] = [];
  if (before.gpuName !== after.gpuName) {
    found.push({ name: 'gpu', text: `GPU ${before.gpuName ?? 'unknown'} → ${after.gpuName ?? 'unknown'}` });
  }
  if (majorOf(before.tensorrt) !== majorOf(after.tensorrt)) {
    found.push({ name: 'tensorrt', text: `TensorRT ${before.tensorrt ?? 'unknown'} → ${after.tensorrt ?? 'unknown'}` });
  }
  const clocks = lockDifference(before, after);
  if (clocks !== null) found.push({ name: 'clocks', text: clocks });
  return found;
}

function majorOf(version: string | null): string | null {
  return version?.split('.')[0] ?? null;
}
