import { DISPLAY_RATE } from '../game.ts';
import { HETERO_TENSOR } from '../machine.ts';
import type { Quantities } from '../quantities.ts';
import { type FigureGroup, type FigureRule, rule } from './rule.ts';

type System = 'hetero-layer' | typeof HETERO_TENSOR | 'gpu-only';

const slowdown =
  (system: System) =>
  (q: Quantities): number | undefined => {
    const game = q.game(system);
    return game && 1 - game.alone / game.beside;
  };

const fps = (name: string, system: System): FigureRule =>
  rule('§5.5', `${name} with game, Llama-8B, sequence length 256`, 'frame rate of the game', 'FPS', (q) => {
    const game = q.game(system);
    return game && game.frameRate / DISPLAY_RATE;
  });

const LAYER = 'Hetero-layer with game, Llama-8B, sequence length 256';
const TENSOR = 'Hetero-tensor with game, Llama-8B, sequence length 256';

export const INTERFERENCE: FigureGroup = {
  title: 'During a game (§5.5, Fig. 18)',
  note: 'Simulated only: frames at 60 Hz in the GPU’s queue, which runs what is submitted first, to its end. The paper says nothing of the game’s kernels; the time of a frame, 3.8 ms, is fitted to what Hetero-layer loses. Frame rates are compared in points of 60.',
  rules: [
    rule('§5.5', LAYER, 'prefill slowdown by the game', 'share', slowdown('hetero-layer')),
    rule('§5.5', TENSOR, 'prefill slowdown by the game', 'share', slowdown(HETERO_TENSOR)),
    rule('§5.5', TENSOR, 'prefill speedup over Hetero-layer without game', '%', (q) => {
      const [layer, tensor] = [q.game('hetero-layer'), q.game(HETERO_TENSOR)];
      return layer && tensor && layer.alone / tensor.beside;
    }),
    fps('Hetero-layer', 'hetero-layer'),
    fps('Hetero-tensor', HETERO_TENSOR),
    fps('PPL-OpenCL', 'gpu-only'),
  ],
};
