// Loaded before bench, which then does not begin: standard input has command lines ([{args, cwd}], JSON), which run one
// after the other in this process. Standard output gets their answers, each with the lines of `BENCH_TEST_ATTEMPTS`.
import { readFileSync } from 'node:fs';
import process from 'node:process';

import { main, processIo } from '../../dist/cli.cjs';

const answers = [];
for (const { args, cwd } of JSON.parse(readFileSync(0, 'utf8'))) {
  process.chdir(cwd);
  const said = { signal: null, stdout: '', stderr: '' };
  const takeAs = (stream) => (text) => void (said[stream] += text.replaceAll(cwd, '.'));
  const code = await main(args, { ...processIo(), cwd, out: takeAs('stdout'), err: takeAs('stderr') });
  answers.push([args, { code, ...said, attempts: readFileSync(process.env.BENCH_TEST_ATTEMPTS, 'utf8') }]);
}
await new Promise((resolve) => process.stdout.write(JSON.stringify(answers), resolve));
process.exit();
