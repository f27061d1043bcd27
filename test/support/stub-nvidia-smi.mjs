#!/usr/bin/env node
// Stands in for nvidia-smi in tests. STUB_SMI (JSON) says how it is:
//   report   file with what `-q -x` prints
//   list     what `-L` prints
//   temperatures  what it says of the temperature, one after the other; the last one stays (needs the journal)
//   hot      true if its samples say that heat slows the GPU down, at 87 °C
//   apps     what `--query-compute-apps` prints
//   held     pairs of a process number and MiB that `pmon` prints
//   older    true for a driver that knows only throttle reasons
//   fails    all it says before it ends with exit code 9
//   hangs    part of the command line on which it says nothing for ever
// STUB_SMI_JOURNAL is a file that gets a line `pid arguments` for each start.
import { appendFileSync, readFileSync } from 'node:fs';
import process from 'node:process';

const {
  apps = '',
  fails,
  hangs,
  hot = false,
  held = [],
  list = '',
  older = false,
  report,
  temperatures,
} = JSON.parse(process.env.STUB_SMI ?? '{}');
const line = process.argv.slice(2).join(' ');
const { STUB_SMI_JOURNAL } = process.env;
if (STUB_SMI_JOURNAL) appendFileSync(STUB_SMI_JOURNAL, `${process.pid} ${line}\n`);

const VALUES = {
  index: ['index', '0'],
  uuid: ['uuid', 'GPU-00000000-0000-0000-0000-000000000000'],
  'clocks.sm': ['clocks.current.sm [MHz]', '1590 MHz'],
  'clocks.mem': ['clocks.current.memory [MHz]', '3201 MHz'],
  'power.draw': ['power.draw [W]', '412.50 W'],
  'power.limit': ['power.limit [W]', '700.00 W'],
  'temperature.gpu': ['temperature.gpu', hot ? '87' : '51'],
  'utilization.gpu': ['utilization.gpu [%]', '99 %'],
  'memory.used': ['memory.used [MiB]', '1011 MiB'],
  'clocks_event_reasons.active': ['clocks_event_reasons.active', hot ? '0x0000000000000040' : '0x0000000000000004'],
  'clocks_throttle_reasons.active': ['clocks_throttle_reasons.active', '0x0000000000000004'],
  'pcie.link.gen.current': ['pcie.link.gen.current', '[N/A]'],
  'pcie.link.width.current': ['pcie.link.width.current', '16'],
};

function local(ms) {
  return new Date(ms).toISOString().replace(/-/g, '/').replace('T', ' ').replace('Z', '');
}

/** A line for every 20 ms of the next two minutes, at once: no test has to wait for the next second. */
function sample() {
  if (process.env.TZ !== 'UTC0') throw new Error('the samples must be asked for in UTC');
  const fields = /--query-gpu=(\S+)/.exec(line)[1].split(',').slice(1);
  const unknown = fields.find((field) => older && field.startsWith('clocks_event_reasons'));
  if (unknown !== undefined) {
    process.stdout.write(`Field "${unknown}" is not a valid field to query.\n\n`);
    process.exitCode = 2;
    return;
  }
  const header = ['timestamp', ...fields.map((field) => VALUES[field][0])].join(', ');
  const values = fields.map((field) => VALUES[field][1]).join(', ');
  const start = Date.now();
  const rows = Array.from({ length: 6000 }, (_, row) => `${local(start + row * 20)}, ${values}`);
  process.stdout.write(`${[header, ...rows].join('\n')}\n`);
  // The next one comes when it is due: whoever does not listen any more is noticed then, as by nvidia-smi.
  process.stdout.on('error', () => process.exit(141));
  setInterval(() => process.stdout.write(`${local(start)}, ${values}\n`), 100);
}

if (fails !== undefined) {
  process.stdout.write(`${fails}\n`);
  process.exitCode = 9;
} else if (hangs !== undefined && line.includes(hangs)) {
  setTimeout(() => {}, 120_000);
} else if (line === '-L') {
  process.stdout.write(list);
} else if (line.includes('--query-gpu=temperature.gpu') && temperatures !== undefined) {
  const requested = readFileSync(STUB_SMI_JOURNAL, 'utf8').split('--query-gpu=temperature.gpu').length - 2;
  process.stdout.write(`${temperatures[Math.min(requested, temperatures.length - 1)]}\n`);
} else if (line === '-q -x') {
  process.stdout.write(readFileSync(report));
} else if (line.startsWith('pmon')) {
  if (process.env.TZ !== 'UTC0') throw new Error('the samples must be asked for in UTC');
  const now = Date.now();
  const at = (s) =>
    local(now + s * 1000)
      .slice(0, 19)
      .replaceAll('/', '');
  const rows = Array.from({ length: 120 }, (_, s) =>
    held.map(([pid, mib]) => `${at(s)} 0 ${pid} C ${mib} 0 trtexec\n`),
  );
  process.stdout.write(`#Date Time gpu pid type fb ccpm command\n${rows.flat().join('')}`);
  process.stdout.on('error', () => process.exit(141));
  setInterval(() => process.stdout.write(`${at(0)} 0 - - - - -\n`), 100);
} else if (line.includes('--query-compute-apps')) {
  process.stdout.write(apps);
} else {
  sample();
}
