#!/usr/bin/env node
import process from 'node:process';

import { prepared } from './bisect-answer.mjs';

const { start, end } = prepared({ args: process.argv.slice(2), env: process.env, cwd: process.cwd() });
Object.assign(process.env, start.env);
process.on('exit', end);
await import('./stub-trtexec.mjs');
