// Stands in for Nsight Systems in tests, as a process: it takes the command lines of `nsys profile` and `nsys export`.
// What it knows of them: the tables "CLI Profile Command Switch Options" and "CLI Export Command Switch Options" of
// NVIDIA's user guide (2025 edition; STUB_NSYS=2024.2 has the older names). Options that are not in them are refused,
// as nsys does. The program behind the options is really run. The export is in nsys' schema, see nsys-export.ts; its
// times are made up.
// STUB_NSYS_FAILS: all it says before it ends with exit code 1. STUB_NSYS_JOURNAL: gets a line for each start.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

import { writeCapture } from './nsys-export.ts';

const args = process.argv.slice(2);
const isOld = process.env['STUB_NSYS'] === '2024.2';
const version = isOld ? '2024.2.3.38' : '2025.3.1.90';

const METRICS = isOld ? '--gpu-metrics-device' : '--gpu-metrics-devices';
const OPTIONS = `--accelerator-trace --capture-range --cuda-graph-trace ${METRICS} --show-output --trace-fork-before-exec`;
const KNOWN = [...OPTIONS.split(' '), '-o', '-f', '-t', '-c', '-e'];

const HELP = `
The options for the profile command are:

	--accelerator-trace=

	   Possible values are 'none' or '${isOld ? 'nvmedia' : 'tegra-accelerators'}'.

	-c, --capture-range=

	   Possible values are 'none', 'cudaProfilerApi', 'nvtx', 'hotkey'.

	--cuda-graph-trace=

	   Possible values are 'graph' or 'node'.

	${METRICS}=

	   Collect GPU Metrics from the specified devices: GPU IDs, 'all' or 'none'.

	-o, --output=

	-t, --trace=
`;

function refuse(text: string): never {
  process.stderr.write(`${text}\nusage: nsys profile [<args>] [application] [<application args>]\n`);
  process.exit(1);
}

function profile(rest: readonly string[]): void {
  const given = new Map<string, string>();
  let at = 0;
  while (rest[at]?.startsWith('-') === true) {
    const [name = '', inline] = (rest[at] ?? '').split('=', 2);
    if (!KNOWN.includes(name)) refuse(`unrecognised option '${name}'`);
    given.set(name, inline ?? rest[at + 1] ?? '');
    at += inline === undefined ? 2 : 1;
  }
  const [program, ...own] = rest.slice(at);
  if (program === undefined) refuse('No application was given.');
  const report = `${given.get('-o') ?? 'report1'}.nsys-rep`;
  if (existsSync(report) && given.get('-f') !== 'true') refuse(`${report} exists: use --force-overwrite true`);
  const variables = (given.get('-e') ?? '').split(',').map((pair) => pair.split('=', 2));
  const env = { ...process.env, ...Object.fromEntries(variables.filter((pair) => pair.length === 2)) };
  const ran = spawnSync(program, own, { stdio: 'inherit', env });
  if (ran.status !== 0) process.exit(ran.status ?? 1);
  writeFileSync(report, JSON.stringify({ queries: Number(/--iterations=(\d+)/.exec(own.join(' '))?.[1] ?? 3) }));
  process.stdout.write(`Generated:\n    ${report}\n`);
}

function exported(rest: readonly string[]): void {
  const { queries } = JSON.parse(readFileSync(rest.at(-1) ?? '', 'utf8'));
  const kernels = { sm90_xmma_fprop: 40, splitKreduce: 8, permute: 5 };
  writeCapture(rest[rest.indexOf('-o') + 1] ?? '', { kernels, queries });
}

if (process.env['STUB_NSYS_JOURNAL'] !== undefined) {
  appendFileSync(process.env['STUB_NSYS_JOURNAL'], `${args.join(' ')}\n`);
}
if (args[0] === '--version') {
  process.stdout.write(`NVIDIA Nsight Systems version ${version}-253135822126v0\n`);
} else if (args[0] === 'profile' && args[1] === '--help') {
  process.stdout.write(HELP);
} else if (process.env['STUB_NSYS_FAILS'] !== undefined) {
  refuse(process.env['STUB_NSYS_FAILS']);
} else if (args[0] === 'profile') profile(args.slice(1));
else if (args[0] === 'export') exported(args.slice(1));
else refuse(`unknown command ${args[0]}`);
