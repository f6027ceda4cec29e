import fc from 'fast-check';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device, FlopRates } from '../../engine/hardware/device.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { LAYER_OPERATORS, OPERATORS, operatorShapes } from '../../engine/model/operators.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from '../../engine/plan/tensor-partition.ts';
import { TOY_CHIP, toyChip } from './toy-chip.ts';
import { TOY_CPU, toyCluster, toyDevice } from './toy-cluster.ts';

/** TOY_CHIP_MODEL with six layers. */
export const SIX_LAYERS: Model = createModel(uniformShape({ ...TOY_CHIP, name: 'chip toy of six', layers: 6 }), 'F16');

/** CPUs that are slower than the chips' GPUs: 20 FLOP/s and 20 B/s. */
const SLOW_CPU = {
  ...TOY_CPU,
  flops: Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, 20])) as FlopRates,
  bandwidth: 20,
};

/** A PC, which is the head, and two chips, `one` and `two`, whose GPUs have `available` bytes. */
export function chipRing(given: Partial<Device> = {}, available = 1e6): Cluster {
  const chip = toyChip();
  const memory = { total: 1e6, available };
  const devices = [
    toyDevice('pc'),
    { ...chip, name: 'one', gpu: { ...chip.gpu, memory } },
    { ...chip, name: 'two', gpu: { ...chip.gpu, memory } },
  ];
  return toyCluster(devices.map((device) => ({ ...device, cpu: SLOW_CPU, ...given })));
}

/** Any way to cut the operators of SIX_LAYERS, on prepared graphs of 4, 8 and 16 tokens. */
export function anyPartition(promptTokens: number): fc.Arbitrary<TensorPartition> {
  const shapes = operatorShapes(SIX_LAYERS);
  const cut = (rows: number, lengths: fc.Arbitrary<readonly number[]>): fc.Arbitrary<OperatorCut> =>
    fc
      .record({ npuRows: fc.integer({ min: 0, max: rows }), npuLengths: lengths })
      .map((made) => (made.npuRows === 0 ? { ...made, npuLengths: [] } : made));
  const graphs = fc.array(fc.constantFrom(4, 8, 16), { minLength: 1, maxLength: 3 });
  const record = (names: readonly (typeof OPERATORS)[number][], lengths: fc.Arbitrary<readonly number[]>) =>
    fc.record(Object.fromEntries(names.map((name) => [name, cut(shapes[name].rows, lengths)])));
  return fc.record({
    synchronisation: fc.constantFrom(...SYNCHRONISATIONS),
    graphs: fc.constant('prepared' as const),
    promptTokens: fc.constant(promptTokens),
    prefill: record(LAYER_OPERATORS, graphs),
    decode: record(OPERATORS, fc.constant([1])),
  }) as fc.Arbitrary<TensorPartition>;
}
