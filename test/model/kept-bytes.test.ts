import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  appendedBytes,
  keptBytes,
  meanSeenPositions,
  onePosition,
  recurrenceFlops,
  seenBytes,
  seenFlops,
  seenPositions,
  stateBytes,
} from '../../engine/model/kept-bytes.ts';
import { modelKvBytesPerToken } from '../../engine/model/kv-format.ts';
import type { Attention, DeltaNet, LatentAttention, LayerKind, Mixer } from '../../engine/model/layer-kind.ts';
import { countKinds } from '../../engine/model/model.ts';

const HIDDEN = 2048;

/** Layers of these mixers, one of each; `undefined`: a feed-forward part alone. */
function layersOf(...mixers: readonly (Mixer | undefined)[]) {
  const kinds = mixers.map((mixer): LayerKind => ({ ...(mixer && { mixer }), resultNorms: false }));
  return { kinds, layers: kinds.length, hiddenSize: HIDDEN, layersByKind: countKinds({ kinds }) };
}

const ATTENTION: Attention = {
  ...{ kind: 'attention', heads: 16, kvHeads: 2, headSize: 128, bias: false, rotation: 'global' },
};
/** DeepSeek-V3's. */
const LATENT: LatentAttention = {
  ...{ kind: 'latent-attention', heads: 128, plainSize: 128, rotatedSize: 64, valueSize: 128, rank: 512, scale: 1 },
  kept: 'latent',
};
const DELTA_NET: DeltaNet = {
  ...{ kind: 'delta-net', keyHeads: 16, valueHeads: 32, size: 128, width: 4, order: 'apart' },
};
const MAMBA = { kind: 'mamba', heads: 64, headSize: 64, groups: 8, stateSize: 128, width: 4 } as const;
const CONVOLUTION = { kind: 'short-convolution', width: 3 } as const;

test('a position of attention has a key and a value of each KV head', () => {
  assert.is(appendedBytes(layersOf(ATTENTION)), 2 * 2 * 128 * 2);
  assert.is(appendedBytes(layersOf(ATTENTION), 'Q8_0'), (2 * 2 * 128 * 34) / 32);
  assert.is(seenFlops(layersOf(ATTENTION), onePosition), 4 * 16 * 128);
});

test('a position of latent attention has R + r numbers, or the key and value of every head', () => {
  assert.is(appendedBytes(layersOf(LATENT)), 576 * 2);
  assert.is(appendedBytes(layersOf(LATENT), 'Q4_0'), (576 * 18) / 32);
  assert.is(appendedBytes(layersOf({ ...LATENT, kept: 'heads' })), 128 * (192 + 128) * 2);
});

test('the bytes of unlike layers are the mean of theirs, not the product of mean sizes', () => {
  const wide: Attention = { ...ATTENTION, kvHeads: 8, headSize: 32 };
  const mixed = layersOf(ATTENTION, wide, LATENT, CONVOLUTION, undefined);
  assert.is(appendedBytes(mixed), (1024 + 1024 + 1152) / 5);
  assert.is(modelKvBytesPerToken(mixed), 1024 + 1024 + 1152);
});

test('states are F32 and don’t grow with the text', () => {
  // 32 × 128² numbers, and 3 × (2 × 16 + 32) × 128 inputs.
  assert.is(stateBytes(layersOf(DELTA_NET)), 4 * (524_288 + 24_576));
  // 4096 × 128 numbers, and 3 × (4096 + 2 × 8 × 128) inputs.
  assert.is(stateBytes(layersOf(MAMBA)), 4 * (524_288 + 18_432));
  assert.is(stateBytes(layersOf(CONVOLUTION)), 4 * 2 * HIDDEN);
  const hybrid = layersOf(DELTA_NET, DELTA_NET, DELTA_NET, ATTENTION);
  assert.is(keptBytes(hybrid, 1000), (3 * 2_195_456 + 1000 * 1024) / 4);
  assert.is(appendedBytes(layersOf(DELTA_NET)), 0);
});

test('a token needs 7 FLOPs per value of a DeltaNet’s state, 5 of Mamba’s, and 2 per input of a convolution', () => {
  assert.is(recurrenceFlops(layersOf(DELTA_NET)), 7 * 524_288 + 2 * 4 * 8192);
  assert.is(recurrenceFlops(layersOf(MAMBA)), 5 * 524_288 + 2 * 4 * 6144);
  assert.is(recurrenceFlops(layersOf(CONVOLUTION)), 2 * 3 * HIDDEN);
  assert.is(recurrenceFlops(layersOf(ATTENTION)), 0);
});

test('a layer that attends to another’s keys stores none, and reads them', () => {
  const shared = layersOf(ATTENTION, { ...ATTENTION, keysOf: 0 });
  assert.is(keptBytes(shared, 10), (1024 * 10) / 2);
  assert.is(seenBytes(shared, seenPositions(10)), 1024 * 10);
});

test('a token sees no more than the window, and memory has the whole context', () => {
  const local: Attention = { ...ATTENTION, window: 100 };
  const mixed = layersOf(local, ATTENTION);
  assert.is(seenBytes(mixed, seenPositions(1000)), (1024 * (100 + 1000)) / 2);
  assert.is(seenFlops(mixed, seenPositions(50)), 4 * 16 * 128 * 50);
  assert.is(keptBytes(mixed, 1000), 1024 * 1000);
  // Of 1000 tokens those beyond the window see 100, those within half of it.
  assert.is(meanSeenPositions(1000)(100), (100 * 50 + 900 * 100) / 1000);
  assert.is(meanSeenPositions(1000)(undefined), 500);
});

test.run();
