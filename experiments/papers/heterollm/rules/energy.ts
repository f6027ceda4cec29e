import { HETERO_TENSOR } from '../machine.ts';
import type { Quantities } from '../quantities.ts';
import { EIGHT, type FigureGroup, rule } from './rule.ts';

const PREFILL_256 = 'Hetero-tensor, Llama-8B, prefill, sequence length 256';
const watts = (q: Quantities, system: 'hetero-layer' | typeof HETERO_TENSOR | 'gpu-only'): number =>
  q.joules(EIGHT, 256, system) / q.prefill(EIGHT, 256, system);

export const ENERGY: FigureGroup = {
  title: 'Power and energy (§5.6, Fig. 19)',
  note: 'What the GPU and the NPU add to an idle chip while they calculate is fitted to the powers of PPL-OpenCL (4.34 W, by the printed ratios) and Hetero-layer, which use one of them at a time; half of it is assumed while they wait for the memory. Hetero-tensor, which uses both, is the test, and every print about it counts as seen.',
  rules: [
    rule('§5.6', 'Hetero-layer, Llama-8B, prefill, sequence length 256', 'power', 'W', (q) => watts(q, 'hetero-layer')),
    rule(
      '§5.6',
      PREFILL_256,
      'power increase over Hetero-layer',
      '%',
      (q) => watts(q, HETERO_TENSOR) / watts(q, 'hetero-layer'),
    ),
    rule(
      '§5.6',
      PREFILL_256,
      'power reduction against PPL-OpenCL',
      'share',
      (q) => 1 - watts(q, HETERO_TENSOR) / watts(q, 'gpu-only'),
    ),
    rule(
      '§5.6',
      PREFILL_256,
      'prefill speedup over Hetero-layer',
      '%',
      (q) => q.prefill(EIGHT, 256, 'hetero-layer') / q.prefill(EIGHT, 256),
    ),
    rule(
      '§5.6',
      PREFILL_256,
      'prefill speedup over PPL-OpenCL',
      'x',
      (q) => q.prefill(EIGHT, 256, 'gpu-only') / q.prefill(EIGHT, 256),
    ),
    rule(
      '§5.6',
      PREFILL_256,
      'energy increase over Hetero-layer',
      '%',
      (q) => q.joules(EIGHT, 256) / q.joules(EIGHT, 256, 'hetero-layer'),
    ),
    rule(
      '§5.6',
      PREFILL_256,
      'energy efficiency over PPL-OpenCL',
      'x',
      (q) => q.joules(EIGHT, 256, 'gpu-only') / q.joules(EIGHT, 256),
    ),
  ],
};
