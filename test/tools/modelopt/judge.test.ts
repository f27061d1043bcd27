import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { problemOf } from '../../../src/records/conversion.ts';
import { judgeConversion } from '../../../src/tools/modelopt/judge.ts';
import { ROOT } from '../../support/bench.ts';

const FOLDER = join(ROOT, 'test', 'fixtures', 'modelopt');

interface ModeloptCase {
  readonly name: string;
  readonly exitCode: number;
  readonly argv: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Every recorded run of ModelOpt 0.47.0 (Python 3.11, CPU): its logs, with paths replaced by words such as `<venv>`. */
function modeloptCases(): ModeloptCase[] {
  const [, ...lines] = readFileSync(join(FOLDER, 'cases.tsv'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [name = '', exitCode = '', , , , , argv = ''] = line.split('\t');
    return { name, exitCode: Number(exitCode), argv, ...logsOf(name) };
  });
}

function logsOf(name: string): { readonly stdout: string; readonly stderr: string } {
  return { stdout: logText(`${name}.stdout.log.br`), stderr: logText(`${name}.stderr.log.br`) };
}

/** A log that is not there was empty. */
function logText(file: string): string {
  try {
    return brotliDecompressSync(readFileSync(join(FOLDER, file))).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** By name: `made` and the nodes that have the new precision, of how many; or the reason and what a person is told. */
const EXPECTED = readFileSync(join(FOLDER, 'judged.tsv'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t'));

function judge({ argv, exitCode, ...log }: ModeloptCase) {
  const by = argv.includes('modelopt.onnx.autocast') ? 'autocast' : 'modelopt';
  const precision = /--quantize_mode=(\w+)/.exec(argv)?.[1] ?? 'fp16';
  const facts = { by, precision, interpreter: 'python3', modelopt: '0.47.0', model: 'm.onnx' } as const;
  return judgeConversion(log, { exitCode, signal: null, timedOut: false }, facts);
}

/** What the `warn_` ones leave to luck is refused before ModelOpt is started: test/tools/modelopt/checks.test.ts. */
const CASES = modeloptCases();

test('every recorded run is expected to be something', () => {
  expect(CASES.map(({ name }) => name).toSorted()).toEqual(EXPECTED.map(([name]) => name).toSorted());
  expect(CASES).toHaveLength(84);
});

test.for(EXPECTED)('%s', ([name, rule, said]) => {
  const found = CASES.find((entry) => entry.name === name);
  const result = found === undefined ? null : judge(found);
  const judged =
    result !== null && 'failure' in result
      ? [result.failure.reason, problemOf(result.failure)]
      : ['made', `${result?.converted.nodes} of ${result?.converted.of}`];
  expect(judged).toEqual([rule, said]);
});

test('a package that the machine lacks is told from a model that does not do', () => {
  const lacking = CASES.filter((entry) => {
    const result = judge(entry);
    return 'failure' in result && result.lacks;
  });
  expect(lacking.map(({ name }) => name).toSorted()).toEqual(['err_no_modelopt', 'err_no_torch']);
});

describe('processes that others ended', () => {
  const log = logsOf('ok_vit_tiny_fp8');
  const facts = { by: 'modelopt', precision: 'fp8', interpreter: 'p', modelopt: null, model: 'm' } as const;

  test.for([
    [{ exitCode: null, signal: 'SIGTERM', timedOut: true }, 'timeout'],
    [{ exitCode: null, signal: 'SIGKILL', timedOut: false }, 'killed'],
    [{ exitCode: 137, signal: null, timedOut: false }, 'killed'],
  ] as const)('%j', ([process, reason]) => {
    expect(judgeConversion(log, process, facts)).toMatchObject({ failure: { reason } });
  });

  test('what a log hides from a terminal becomes visible, and a warning is no cause', () => {
    const stderr = "WARNING - No module named 'yaml'\nTraceback\nValueError: \u001b[31mred\u001b[0m\n";
    const result = judgeConversion({ stdout: '', stderr }, { exitCode: 1, signal: null, timedOut: false }, facts);
    expect(result).toHaveProperty('failure.evidence.0.text', 'it ended with: ValueError: \\u001b[31mred\\u001b[0m');
  });
});
