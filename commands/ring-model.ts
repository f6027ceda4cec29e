import { isRecurrent } from '../engine/model/layer-kind.ts';
import { NoNumbersError } from '../engine/ring/device/window-runner.ts';
import { createRingTexts, type RingModel, type RingTexts } from '../engine/ring/head/ring-texts.ts';
import { clock } from '../engine/ring/wire/clock.ts';
import { damagedTensor, noNumbers } from '../engine/runtime/observed/no-numbers.ts';
import { allFinite } from '../engine/runtime/pass/finite-logits.ts';
import type { TokenInterval } from '../engine/trace/trace.ts';
import type { OpenedRing } from './open-ring.ts';

/** The memory of so many texts of full length in a ring. @param context tokens of each */
export function textsOfRing(
  { ring, model, pageTokens }: Pick<OpenedRing, 'ring' | 'model' | 'pageTokens'>,
  context: number,
  texts: number,
): RingTexts {
  const size = { contextLength: context, pages: texts * Math.ceil(context / pageTokens), pageTokens };
  return createRingTexts(ring, { ...size, isRecurrent: isRecurrent(model) });
}

/**
 * A ring’s model whose logits must be numbers.
 * @param file the head’s, for messages
 * @param onPass is told of each pass, the first of which is the prompt’s
 */
export function checkedModel(
  model: RingModel,
  file: string,
  onPass: (interval: TokenInterval) => void = () => {},
): RingModel {
  let isFirst = true;
  const checked = async (logits: Promise<Float32Array>): Promise<Float32Array> => {
    const start = clock();
    const phase = isFirst ? 'prefill' : 'decode';
    isFirst = false;
    const found = await logits.catch((error: Error) => {
      // The head's own file has the same weights, and names the tensor.
      throw (error.cause instanceof NoNumbersError ? damagedTensor(file) : undefined) ?? error;
    });
    if (!allFinite(found)) throw noNumbers(file);
    onPass({ phase, start, end: clock() });
    return found;
  };
  return {
    ...model,
    get position() {
      return model.position;
    },
    evaluate: (tokens) => checked(model.evaluate(tokens)),
    verify: (tokens) => checked(model.verify(tokens)),
  };
}
