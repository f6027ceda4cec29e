import type { Simulation } from '../../../simulator/event-loop/simulation.ts';

/** Events in order: `2.5 a starts`. */
export interface Log {
  readonly lines: readonly string[];
  note(what: string): void;
}

export function createLog(simulation: Simulation): Log {
  const lines: string[] = [];
  return { lines, note: (what) => lines.push(`${Number(simulation.now.toPrecision(12))} ${what}`) };
}
