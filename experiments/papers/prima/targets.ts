/** An accuracy aimed at, on cells held out: a table and a system, and its models where it isn't all of them. */
export interface Target {
  readonly table: string;
  readonly system: string;
  /** Largest |error|. */
  readonly limit: number;
  readonly models?: readonly string[];
}

const FROM_30B = ['Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'];
const FROM_60B = FROM_30B.slice(2);

export const TARGETS: readonly Target[] = [
  { table: '4', system: 'llama.cpp', limit: 0.15 },
  { table: '4', system: 'prima.cpp-no-halda', limit: 0.25, models: FROM_60B },
  { table: '4', system: 'prima.cpp', limit: 0.25 },
  { table: '8', system: 'llama.cpp', limit: 0.05, models: FROM_30B },
  { table: '8', system: 'prima.cpp', limit: 0.25 },
  { table: '9', system: 'llama.cpp', limit: 0.15 },
  { table: '9', system: 'prima.cpp', limit: 0.25 },
];

/** The target that holds for the TPOT of a table, a system and a model, if any does. */
export function targetOf(table: string, system: string, model: string): Target | undefined {
  return TARGETS.find(
    (target) => target.table === table && target.system === system && (target.models?.includes(model) ?? true),
  );
}
