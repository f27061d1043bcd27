import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { ReproOutput } from '../../../src/features/repro/output.ts';
import { NO_GIT } from '../../../src/records/sweep.ts';
import { reproScript } from '../../../src/features/repro/repro.ts';
import { localWords, programPlace } from '../../../src/features/repro/gather.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { runScript } from '../../support/repro-script.ts';

function reproduction(argv: readonly string[], more: Partial<ReproOutput> = {}): ReproOutput {
  return {
    schemaVersion: 1,
    runId: '1a2b3c4d1a2b3c4d1a2b3c4d1a2b3c4d',
    sweepId: '1a2b3c4d1a2b3c4d1a2b3c4d1a2b3c4d',
    label: 'a\nrm -rf /tmp/nothing',
    role: 'timed',
    provenance: 'measured',
    harness: null,
    start: null,
    axisEnv: {},
    startedAt: null,
    source: 'stored',
    conversion: null,
    build: null,
    run: { argv: [...argv], localArgv: [], runId: null },
    commandLine: null,
    model: null,
    engine: { sha256: null, isGiven: true },
    trtexec: null,
    inputs: [],
    environment: {},
    clockPolicy: null,
    git: NO_GIT,
    toolVersion: '0.1.0',
    env: {},
    withheld: 0,
    unknown: [],
    script: null,
    ...more,
  };
}

function run(repro: ReproOutput, env: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'repro.sh'), reproScript(repro));
  writeFileSync(join(folder, 'my.plan'), 'an engine');
  return runScript('repro.sh', folder, env);
}

const ARGV = ['trtexec', '--loadEngine=my.plan', '--warmUp=200'];

test('the engine and the inputs that were given are checked', () => {
  const sha256 = '3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855a';
  const engine = { sha256, isGiven: true };
  const other = run(reproduction(ARGV, { engine }));
  expect([other.code, other.calls]).toEqual([2, []]);
  expect(other.stderr).toContain('not the engine that was measured');
  expect(run(reproduction(ARGV, { engine }), { ANY_MODEL: '1' }).calls).toEqual([ARGV.slice(1)]);
  const line = 'repro: my.plan: not the input that was measured (other SHA-256)\n';
  expect(run(reproduction(ARGV, { inputs: [{ path: 'my.plan', sha256 }] })).stderr).toBe(line);
  expect(run(reproduction(ARGV, { inputs: [{ path: 'no data', sha256: null }] })).code).toBe(2);
});

test.each([
  [['trtexec', '--onnx=a'], 0],
  [['/opt/trtexec_debug', '--loadEngine=a'], 0],
  [['numactl', '--cpunodebind=0', '--membind=0', '/opt/trt exec/trtexec', '--onnx=a'], 3],
  [['numactl', '--membind=0', './mine', '--loadEngine=/models/trtexec'], 2],
  [['./mine', '--onnx=a'], 0],
  [['python', 'serve.py'], -1],
] as const)('trtexec in %j stands at %i', (argv, place) => expect(programPlace(argv)).toBe(place));

test('what starts trtexec stays, exports go to the current folder', () => {
  const argv = ['numactl', '--membind=0', '/x/trtexec', '--loadEngine=/c/1.plan', '--exportTimes=/r/t.json'];
  const words = localWords(argv, { conversion: null, engine: { isGiven: false }, harness: null });
  const expected = ['numactl', '--membind=0', 'trtexec', '--loadEngine=engine.plan', '--exportTimes=t.json'];
  expect(words.map(({ head, text }) => head + text)).toEqual(expected);
});
