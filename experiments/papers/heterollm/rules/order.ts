import { type FigureGroup, rule } from './rule.ts';

export const ORDER: FigureGroup = {
  title: 'Order of a product’s operands (§3.2, Fig. 5)',
  note: 'The paper prints it without K: the largest over the lengths of prepared graphs, 32 to 1024. Both answers take a product’s seconds from the same cost function.',
  rules: [
    rule('§3.2', 'NPU MatMul [14336,4096] x [4096,K]', 'speedup over [K,4096] x [4096,14336]', 'x', (q) =>
      q.orderGain(),
    ),
  ],
};
