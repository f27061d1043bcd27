import { type ChildProcess, spawn } from 'node:child_process';

import { orNull } from '../errors.ts';
import { type EnvironmentVariables, definedVariables } from './environment-variables.ts';

/**
 * A program whose lines are read. It has its own process group, and this program forwards Ctrl-C. Its output is a pipe,
 * which ends it if this program is killed.
 */
export class PrintedLines {
  private readonly child: ChildProcess;
  private readonly lines: string[] = [];
  private rest = '';
  private isOver = false;

  constructor(file: string, args: readonly string[], env: EnvironmentVariables) {
    this.child = spawn(file, [...args], {
      env: definedVariables(env),
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.child.on('exit', () => (this.isOver = true));
    this.child.on('error', () => (this.isOver = true));
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.push(text));
    // A child that cannot be ended must not keep this program running.
    this.child.unref();
  }

  /** The first line; null if the program ends or the signal aborts first. */
  async first(signal: AbortSignal): Promise<string | null> {
    await new Promise<void>((resolve) => {
      const settle = (): void => resolve();
      signal.addEventListener('abort', settle, { once: true });
      if (signal.aborted) settle();
      this.child.stdout?.on('data', () => {
        if (this.lines.length > 0) settle();
      });
      this.child.on('error', settle);
      this.child.on('close', settle);
    });
    return this.lines.shift() ?? null;
  }

  /** Complete lines since the last call, except empty ones. */
  take(): readonly string[] {
    return this.lines.splice(0);
  }

  hasEnded(): boolean {
    return this.isOver;
  }

  /** Kills the program and its child processes; idempotent. */
  stop(): void {
    this.child.stdout?.destroy();
    const { pid } = this.child;
    if (pid !== undefined) orNull(() => process.kill(-pid, 'SIGKILL'));
  }

  private push(text: string): void {
    const parts = (this.rest + text).split('\n');
    this.rest = parts.pop() ?? '';
    this.lines.push(...parts.map((line) => line.trim()).filter((line) => line !== ''));
  }
}
