import { EIGHT, type FigureGroup, rule, SMALL, TENSOR_256, THREE } from './rule.ts';

export const DECODING: FigureGroup = {
  title: 'Decoding (§5.3, Fig. 16)',
  note: 'Bandwidths are inputs (43.3 GB/s for the GPU alone, 59.1 for both); the time of a hand-over is fitted to the 8B. Engines other than PPL have a share of their processor’s rate, fitted to the 8B.',
  rules: [
    rule('§5.3', TENSOR_256, 'decoding speed', 'tok/s', (q) => 1 / q.decode(EIGHT), { target: 0.05 }),
    rule('§5.3', 'Hetero-tensor, Llama-3B, prompt length 256', 'decoding speed', 'tok/s', (q) => 1 / q.decode(THREE), {
      target: 0.05,
    }),
    rule(
      '§5.3',
      'Hetero-tensor, InternLM-1.8B, prompt length 256',
      'decoding speed',
      'tok/s',
      (q) => 1 / q.decode(SMALL),
      { target: 0.05 },
    ),
    rule(
      '§5.3',
      TENSOR_256,
      'decoding speedup over PPL-OpenCL',
      '%',
      (q) => q.decode(EIGHT, 'gpu-only') / q.decode(EIGHT),
    ),
    rule(
      '§5.3',
      'Hetero-tensor, Llama-3B, prompt length 256',
      'decoding speedup over PPL-OpenCL',
      '%',
      (q) => q.decode(THREE, 'gpu-only') / q.decode(THREE),
    ),
    rule(
      '§5.3',
      'Hetero-tensor, InternLM-1.8B, prompt length 256',
      'decoding speedup over PPL-OpenCL',
      '%',
      (q) => q.decode(SMALL, 'gpu-only') / q.decode(SMALL),
    ),
    rule(
      '§5.3',
      TENSOR_256,
      'decoding speedup over MNN-OpenCL',
      'x',
      (q) => q.engineDecode('MNN', EIGHT) / q.decode(EIGHT),
    ),
    rule(
      '§5.3',
      TENSOR_256,
      'decoding speedup over llama.cpp',
      'x',
      (q) => q.engineDecode('llama.cpp', EIGHT) / q.decode(EIGHT),
    ),
    rule('§5.3', TENSOR_256, 'decoding speedup over MLC', 'x', (q) => q.engineDecode('MLC', EIGHT) / q.decode(EIGHT)),
    rule(
      '§5.3',
      'Hetero-tensor, InternLM-1.8B, prompt length 256',
      'decoding speedup over MNN-OpenCL',
      'x',
      (q) => q.engineDecode('MNN', SMALL) / q.decode(SMALL),
    ),
    rule(
      '§5.3',
      'Hetero-tensor, InternLM-1.8B, prompt length 256',
      'decoding speedup over MLC',
      'x',
      (q) => q.engineDecode('MLC', SMALL) / q.decode(SMALL),
    ),
  ],
};
