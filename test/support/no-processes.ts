import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

/** Unit tests share a process and start none: see `unit-tests.ts`. */
function refuse(file: unknown): never {
  throw new Error(`a unit test starts a process: ${String(file)}`);
}

const { spawn, spawnSync, exec, execSync, execFile, execFileSync, fork } = childProcess;
for (const name of Object.keys({ spawn, spawnSync, exec, execSync, execFile, execFileSync, fork })) {
  Reflect.set(childProcess, name, refuse);
}
syncBuiltinESMExports();
