import { type ChildProcess, spawn } from 'node:child_process';

import { definedVariables, type EnvironmentVariables } from './environment-variables.ts';

/**
 * A program that prints lines for as long as it is wanted. It has a process group of its own: Ctrl-C in a terminal is
 * for this program to hand on. Its output is a pipe, so that it ends by itself at its next line when this program was
 * killed.
 */
export class PrintedLines {
  private readonly child: ChildProcess;
  private lines: string[] = [];
  private rest = '';
  private isOver = false;

  constructor(file: string, args: readonly string[], env: EnvironmentVariables) {
    this.child = spawn(file, [...args], {
      env: definedVariables(env),
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.child.on('exit', () => (this.isOver = true));
    // One that cannot be ended must not keep this program from ending.
    this.child.unref();
  }

  /** The first line; null when none comes before it ends, or before the signal. */
  async first(signal: AbortSignal): Promise<string | null> {
    await new Promise<void>((resolve) => {
      const settle = (): void => resolve();
      signal.addEventListener('abort', settle, { once: true });
      if (signal.aborted) settle();
      this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        this.push(text);
        if (this.lines.length > 0) settle();
      });
      this.child.on('error', settle);
      this.child.on('close', settle);
    });
    return this.lines.shift() ?? null;
  }

  /** Complete lines that came since the last time; empty ones are left out. */
  take(): readonly string[] {
    const taken = this.lines;
    this.lines = [];
    return taken;
  }

  hasEnded(): boolean {
    return this.isOver;
  }

  /** Ends it at once with all that it started. Can be done twice. */
  stop(): void {
    this.child.stdout?.destroy();
    try {
      if (this.child.pid === undefined || process.platform === 'win32') this.child.kill('SIGKILL');
      else process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // The group is gone, as it should be.
    }
  }

  private push(text: string): void {
    const parts = (this.rest + text).split('\n');
    this.rest = parts.pop() ?? '';
    this.lines.push(...parts.map((line) => line.trim()).filter((line) => line !== ''));
  }
}
