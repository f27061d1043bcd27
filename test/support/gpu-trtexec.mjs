#!/usr/bin/env node
// The trtexec that stands in, on a machine with several GPUs: it writes down when it ran on which, and on a GPU that
// STUB_BAD_GPU names it fails as on one that has fallen off the bus. STUB_SPANS is the file that gets a JSON line.
import { appendFileSync } from 'node:fs';
import process from 'node:process';

const { CUDA_VISIBLE_DEVICES: gpu = 'first', STUB_BAD_GPU, STUB_SPANS } = process.env;
const startMs = Date.now();
const role = process.argv.some((arg) => arg.startsWith('--loadEngine')) ? 'timed' : 'build';
const isHelp = process.argv.includes('--help');
process.on('exit', () => {
  if (isHelp || STUB_SPANS === undefined) return;
  const span = { pid: process.pid, gpu, role, startMs, endMs: Date.now() };
  appendFileSync(STUB_SPANS, `${JSON.stringify(span)}\n`);
});

if (STUB_BAD_GPU === gpu && role === 'timed') {
  const marker = `TensorRT.trtexec [TensorRT v100600] [b26] # trtexec ${process.argv.slice(2).join(' ')}`;
  process.stdout.write(`&&&& RUNNING ${marker}\n`);
  process.stderr.write('[11/21/2026-07:33:53] [E] Cuda failure: 719\n');
  process.stdout.write(`&&&& FAILED ${marker}\n`);
  process.exitCode = 1;
} else await import('./stub-trtexec.mjs');
