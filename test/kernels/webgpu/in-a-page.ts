import { bufferSource } from '../../../engine/gguf/byte-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../../engine/gguf/transformer-settings.ts';
import { openDevice } from '../../../engine/kernels/webgpu/open-device.ts';
import { webgpuKernels } from '../../../engine/kernels/webgpu/webgpu-kernels.ts';
import { contextOf } from '../../../engine/runtime/pass/context-cache.ts';
import { readRotations } from '../../../engine/runtime/pass/rotations.ts';
import { createModelPart } from '../../../engine/runtime/split/model-part.ts';
import { weightsLoader } from '../../../engine/runtime/weights/transformer-weights.ts';

/** Results of a page, and the GPU that computed them. */
export interface PageLogits {
  readonly adapter: string;
  /** Logits of the last token. */
  readonly logits: number[];
  /** The largest, as the GPU chooses it. */
  readonly token: number | undefined;
}

/** All of a model on the GPU of `navigator.gpu`. @param base64 a GGUF file */
async function logitsInPage(base64: string, tokens: readonly number[]): Promise<PageLogits> {
  const data = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const bytes = bufferSource('model.gguf', data);
  const { device, identifier, packedDot } = await openDevice(navigator.gpu);
  const kernels = webgpuKernels({
    ...{ device, adapter: identifier, packedDot },
    openFile: () => ({ source: bytes, close() {} }),
    openScratch() {
      throw new RangeError('a page has no files');
    },
  });
  const gguf = readGguf(bytes);
  const model = modelFromGguf(gguf);
  const settings = transformerSettings(gguf, model);
  const rotations = readRotations(gguf, bytes, model, tokens.length);
  const weights = weightsLoader({ gguf, bytes, file: kernels.mapFile(bytes.name), kernels }, model);
  const part = createModelPart({
    ...{ model, settings, weights, kernels, mostTokens: tokens.length },
    rotations: () => rotations,
  });
  part.load(0, model.layers);
  const cache = contextOf(kernels, model, { capacity: tokens.length, type: 'F32' });
  part.embed(tokens);
  await part.run(0, model.layers, [{ cache, position: 0, tokens: tokens.length, multiplied: 'singly' }]);
  const logits = [...(await part.logits(tokens.length))];
  const { candidates } = await part.largestLogits(tokens.length, 1);
  kernels.close();
  return { adapter: identifier, logits, token: candidates[0]?.token };
}

Object.assign(globalThis, { logitsInPage });
