import { HETERO_TENSOR } from '../machine.ts';
import type { Quantities } from '../quantities.ts';
import { EIGHT, type FigureGroup, LENGTHS, mean, rule, SEVEN, SMALL, TENSOR_256, THREE } from './rule.ts';

const gainOfFast =
  (model: string, system: typeof HETERO_TENSOR | 'hetero-layer') =>
  (q: Quantities): number =>
    mean(LENGTHS.map((tokens) => q.prefill(model, tokens, system, true) / q.prefill(model, tokens, system)));
const FAST = 'prefill speedup by fast synchronization';

export const SYNCHRONISATION: FigureGroup = {
  title: 'Fast against naive synchronisation (§5.4, Figs. 15 and 17)',
  note: 'The NPU’s rate is fitted to 236.92 tok/s, and nothing else here: a copy of 400 µs in and out of every part, an empty queue after it. Plans are made for fast synchronisation and run with either.',
  rules: [
    rule(
      '§5.4',
      'Hetero-tensor with fast synchronization, Llama-8B, sequence length 256',
      'prefill speed',
      'tok/s',
      (q) => 256 / q.prefill(EIGHT, 256),
    ),
    rule(
      '§5.4',
      'Hetero-tensor without fast synchronization, Llama-8B, sequence length 256',
      'prefill speed',
      'tok/s',
      (q) => 256 / q.prefill(EIGHT, 256, HETERO_TENSOR, true),
    ),
    rule('§5.4', 'Hetero-layer, Llama-8B, average', FAST, '%', gainOfFast(EIGHT, 'hetero-layer')),
    rule('§5.4', 'Hetero-tensor, Llama-8B, average', FAST, '%', gainOfFast(EIGHT, HETERO_TENSOR)),
    rule('§5.4', 'Hetero-layer, Llama-7B, average', FAST, '%', gainOfFast(SEVEN, 'hetero-layer')),
    rule('§5.4', 'Hetero-tensor, Llama-7B, average', FAST, '%', gainOfFast(SEVEN, HETERO_TENSOR)),
    rule('§5.4', 'Hetero-layer, InternLM-1.8B, average', FAST, '%', gainOfFast(SMALL, 'hetero-layer')),
    rule('§5.4', 'Hetero-tensor, InternLM-1.8B, average', FAST, '%', gainOfFast(SMALL, HETERO_TENSOR)),
    rule(
      '§5.4',
      TENSOR_256,
      'decoding speedup by fast synchronization',
      'x',
      (q) => q.decode(EIGHT, HETERO_TENSOR, true) / q.decode(EIGHT),
    ),
    rule(
      '§5.4',
      'Hetero-tensor, other models, prompt length 256',
      'decoding speedup by fast synchronization',
      'x',
      (q) => mean([SEVEN, THREE, SMALL].map((model) => q.decode(model, HETERO_TENSOR, true) / q.decode(model))),
    ),
  ],
};
