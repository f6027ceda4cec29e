import type { Automaton, State } from './automaton.ts';

/**
 * Any text, up to the end of a mark and what follows that.
 * @param mark whose first byte doesn't occur in it again
 */
export function textUntil(automaton: Automaton, mark: string, then: State): State {
  const bytes = [...new TextEncoder().encode(mark)];
  const first = bytes[0] as number;
  /** By the number of the mark's bytes that were just written. */
  const states = bytes.map(() => automaton.open());
  const [plain] = states as [State];
  for (const [count, state] of states.entries()) {
    const expected = bytes[count] as number;
    const edges = [
      ...gaps([first, expected]).map(([low, high]) => [low, high, plain] as const),
      ...(expected === first ? [] : [[first, first, states[1] as State] as const]),
      [expected, expected, states[count + 1] ?? then] as const,
    ];
    automaton.add(state, automaton.byte(edges, { takesControls: true }));
  }
  return plain;
}

/** Ranges of all other bytes. */
export function gaps(bytes: readonly number[]): [low: number, high: number][] {
  const sorted = [...new Set(bytes)].sort((a, b) => a - b);
  return [-1, ...sorted]
    .map((byte, index): [number, number] => [byte + 1, (sorted[index] ?? 256) - 1])
    .filter(([low, high]) => low <= high);
}
