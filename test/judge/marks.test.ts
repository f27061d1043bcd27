import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { fakeHarnessMatrix } from '../support/fake-harness.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

/** Two nights of a matrix with an upper bound on an axis. */
describe('cells under a switch that is known', () => {
  const folder = sharedFolder();
  const here = ['--db', join(folder, 'bench.sqlite')];
  const env = { COLUMNS: '220' };

  async function printed(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await bench([...args, ...here], { env });
    expect([args[0], code, code === 0 ? '' : stderr]).toEqual([args[0], 0, '']);
    return stdout;
  }

  beforeAll(async () => {
    const matrix = stubMatrix(folder, [
      'repeats: 2',
      'include: [{batch: 8, env: {ENABLE_PERFECT_ROUTER: "1", TLLM_NVTX_DEBUG: "1"}}]',
    ]);
    for (const night of [1, 2]) {
      const { code, stderr } = await bench(['run', matrix, '--trtexec', STUB, '--no-telemetry', ...here], {
        cwd: folder,
      });
      if (code !== 0) throw new Error(`night ${night}: ${stderr}`);
    }
  }, 60_000);

  test('are marked in the table of the sweep', async () => {
    const shown = await printed(['show', 'latest']);
    expect(shown).toContain('invalid output, profiling on, upper bound');
    const text = 'profiling on (2 runs; this is one of them): TLLM_NVTX_DEBUG=1: more NVTX ranges are marked';
    expect(shown).toContain(text);
  });

  test('are never judged by the gate, which says so', async () => {
    const [series] = JSON.parse(await printed(['check', '--json'])).series;
    expect(series.cells.map(({ verdict }: { verdict: string }) => verdict)).not.toContain('noResult');
    expect(series.notes).toContain('1 cell under a profiling switch or as an upper bound: never judged');
  });

  test('are compared with nothing', async () => {
    const { cells, counts } = JSON.parse(await printed(['compare', 'latest~1', 'latest', '--json']));
    expect(counts).toMatchObject({ incomparable: 1, failed: 0 });
    const cell = cells.find(({ verdict }: { verdict: string }) => verdict === 'incomparable');
    expect(cell.reasons.join('\n')).toContain('2 of 2 runs left out');
    expect(cell.label).toContain('env.ENABLE_PERFECT_ROUTER=1');
  });

  test('are never a choice', async () => {
    const words =
      'excluded: small fp16 8x3 graph env.ENABLE_PERFECT_ROUTER=1 env.TLLM_NVTX_DEBUG=1: invalid output, profiling on, upper bound';
    expect(await printed(['choose'])).toContain(words);
    const pareto = JSON.parse(await printed(['choose', '--json']));
    expect(pareto.notes).toEqual([words]);
    expect(pareto.workloads.flat()).toHaveLength(2);
    expect(pareto.unmeasured).toEqual([]);
  });

  test('carry the word in CSV, Markdown and HTML, and are not in what other tools keep', async () => {
    const file = (name: string): string => join(folder, name);
    const read = (name: string): string => readFileSync(file(name), 'utf8');
    const formats = { csv: 'csv', md: 'md', html: 'html', junit: 'xml', bmf: 'json', openmetrics: 'om' };
    await printed(['report', ...Object.entries(formats).flatMap(([of, end]) => [`--${of}`, file(`r.${end}`)])]);
    const [header = '', ...lines] = read('r.csv').trimEnd().split('\r\n');
    expect(header.split(',').at(-1)).toBe('marks');
    const marked = lines.filter((line) => line.includes('env.ENABLE_PERFECT_ROUTER=1'));
    expect(marked).toHaveLength(2);
    for (const line of marked) expect(line.endsWith(',"invalid output, profiling on, upper bound"')).toBe(true);
    expect(lines.filter((line) => line.endsWith('upper bound"'))).toHaveLength(2);
    expect(read('r.md')).toContain('**✗ invalid output, profiling on, upper bound**');
    expect(read('r.html')).toContain('<span class="slower">✗ invalid output, profiling on, upper bound</span>');
    expect(read('r.xml')).toContain('<skipped message="invalid output, profiling on, upper bound"/>');
    expect(Object.keys(JSON.parse(read('r.json')))).toHaveLength(2);
    expect(read('r.om')).not.toMatch(/^trtbench_gpu_compute_seconds\{.*ENABLE_PERFECT_ROUTER/m);
  });

  test('are no part of a baseline', async () => {
    const { code, stderr } = await bench(['baseline', 'set', 'v1', ...here], { cwd: folder });
    expect(code).toBe(0);
    expect(stderr).toContain('note: 1 cell is not part of the baseline: no run that counts');
  });
});

test('a switch that bench was started with: bars every run, as the gate and a baseline say', async () => {
  const folder = temporaryFolder();
  const here = ['--db', join(folder, 'bench.sqlite')];
  const matrix = fakeHarnessMatrix(folder, 112);
  const env = { TLLM_LLMAPI_ENABLE_NVTX: '1', HF_TOKEN: 'hf_never_stored' };
  const run = await bench(['run', matrix, '--repeats', '2', '--no-telemetry', ...here], { env, cwd: folder });
  expect(run).toMatchObject({ code: 4, stdout: expect.stringContaining('profiling on') });
  expect(run.stdout).toContain('bench check: first sweep: nothing to compare with; 1 cell without a result');
  const check = await bench(['check', '--json', ...here], { cwd: folder });
  expect(check.code).toBe(4);
  const [series] = JSON.parse(check.stdout).series;
  expect(series.cells).toMatchObject([
    {
      verdict: 'noResult',
      reason: 'failed',
      notes: ['profiling on: TLLM_LLMAPI_ENABLE_NVTX=1: the LLM API marks NVTX ranges'],
    },
  ]);
  const baseline = await bench(['baseline', 'set', 'v1', ...here], { cwd: folder });
  expect(baseline.code).toBe(2);
  expect(baseline.stderr).toMatch(/^bench: sweep [0-9a-f]{8} cannot be a baseline: no run that counts/);
  expect(readFileSync(join(folder, 'bench.sqlite'), 'latin1').includes('hf_never_stored')).toBe(false);
});
