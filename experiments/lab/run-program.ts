import { execFileSync } from 'node:child_process';

/** Runs a program to its end. @returns what it printed @throws Error with the command and what it said */
export function runProgram(program: string, ...options: readonly string[]): string {
  try {
    return execFileSync(program, options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(`${[program, ...options].join(' ')}: ${said}`);
  }
}
