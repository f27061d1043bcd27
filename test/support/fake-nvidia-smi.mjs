#!/usr/bin/env node
// Stands in for nvidia-smi: keeps the locks of its GPUs in a file and logs what it was asked. What it prints for a lock
// is as real drivers print it, the frequencies are those of an H200. FAKE_SMI (JSON) makes it misbehave. What has
// nothing to do with locks it leaves to stub-nvidia-smi.mjs.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

const args = process.argv.slice(2);
const { folder, deny, unsupported, ignoresLock, failsReset, persistence } = JSON.parse(process.env.FAKE_SMI);
const line = args.join(' ');
appendFileSync(`${folder}/smi.log`, `${line}\n`);

const STATE = `${folder}/smi-state.json`;
const state = existsSync(STATE) ? JSON.parse(readFileSync(STATE, 'utf8')) : {};
const keep = (name, value) => {
  state[name] = value;
  writeFileSync(STATE, JSON.stringify(state));
};
const valueOf = (flag) => args[args.indexOf(flag) + 1];
const has = (flag) => args.includes(flag);
const say = (text) => process.stdout.write(`${text}\n`);
const BUS = '00000000:00:06.0';

function change() {
  const [low, high] = valueOf('-lgc').split(',');
  say(`GPU clocks set to "(gpuClkMin ${low}, gpuClkMax ${high})" for GPU ${BUS}`);
  say('All done.');
  if (!ignoresLock) keep('gpu', high);
}

function refuse() {
  say(`The current user does not have permission to change clocks for GPU ${BUS}.`);
  say('Terminating early due to previous errors.');
  process.exitCode = 4;
}

function cannot() {
  say(`Setting locked GPU clocks is not supported for GPU ${BUS}.`);
  say('Treating as warning and moving on.');
  say('All done.');
}

if (has('-rgc') || has('-rmc')) {
  if (failsReset) refuse();
  else {
    keep(has('-rgc') ? 'gpu' : 'memory', null);
    say('All done.');
  }
} else if (has('-lgc')) {
  if (deny) refuse();
  else if (unsupported) cannot();
  else change();
} else if (line.includes('--query-supported-clocks')) {
  for (let mhz = 1980; mhz >= 345; mhz -= 15) say(`3201, ${mhz}`);
} else if (line.includes('--query-gpu=persistence_mode')) {
  say(persistence ?? 'Enabled');
} else if (line.includes('--query-gpu=clocks.current.graphics')) {
  say(state.gpu && state.gpu !== 'tdp' ? state.gpu : '1980');
} else {
  await import('./stub-nvidia-smi.mjs');
}
