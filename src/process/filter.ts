import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';

import { EnvironmentLackingError } from '../errors.ts';
import { askNow } from './ask.ts';

/** True if a program can be started here. */
export function isInstalled(program: string): boolean {
  return askNow(program, ['--version']).kind !== 'missing';
}

/**
 * A stream through a program such as `xz -dc`. The program ends with the stream.
 * @throws as an error of the stream: when the program cannot be started, or fails
 */
export function filterThrough(program: string, args: readonly string[]): Duplex {
  const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  const stream = new Duplex({
    write: (chunk, _, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(done),
    read: () => void child.stdout.resume(),
    destroy: (error, done) => {
      child.kill('SIGKILL');
      done(error);
    },
  });
  const fail = (what: string): void => void stream.destroy(new EnvironmentLackingError(`${program}: ${what}`));
  // The exit code of the program explains this error.
  child.stdin.on('error', () => {});
  child.stdout.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) child.stdout.pause();
  });
  child.on('error', ({ message }) => fail(message));
  child.on('close', (code) => (code === 0 ? void stream.push(null) : fail('the data are damaged, or end too soon')));
  return stream;
}
