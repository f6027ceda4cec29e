import { bufferSource } from '../../../engine/gguf/byte-source.ts';
import { READ_ALIGNMENT } from '../../../engine/kernels/file-pages.ts';
import {
  encodePackedHeader,
  type PackedHeader,
  packedStride,
  readPacked,
} from '../../../engine/runtime/weights/packed-experts.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { type Json, jsonText, mutateJson } from '../mutate-json.ts';
import type { FuzzTarget } from '../target.ts';

const HEADER: PackedHeader = {
  model: { name: 'm', bytes: 4096, digest: '00' },
  layers: [
    { layer: 0, experts: 2, matrices: [{ role: 'ffn_up_exps', bytes: 100 }] },
    {
      ...{ layer: 2, experts: 3 },
      matrices: [
        { role: 'ffn_gate_exps', bytes: 4096 },
        { role: 'ffn_down_exps', bytes: 1 },
      ],
    },
  ],
};

/** Bytes of a file that no reader has to hold. */
const MOST_BYTES = 2 ** 20;

/** Headers of packed experts, in files of the size that they describe or of another. */
export function open(): FuzzTarget {
  return {
    input(random) {
      let json = HEADER as unknown as Json;
      for (let times = random.integer(0, 2); times > 0; times--)
        json = mutateJson(json, HEADER as unknown as Json, random);
      const text = new TextEncoder().encode(jsonText(json));
      const beginning = encodePackedHeader(HEADER);
      const header = new Uint8Array(Math.ceil((16 + text.length) / READ_ALIGNMENT) * READ_ALIGNMENT);
      header.set(beginning.subarray(0, 12));
      new DataView(header.buffer).setUint32(12, text.length, true);
      header.set(text, 16);
      const whole = new Uint8Array(header.length + 8 * READ_ALIGNMENT);
      whole.set(header);
      return random.integer(0, 1) === 0 ? whole : mutateBytes(whole, beginning, random);
    },
    read(input) {
      const { begins, layers } = readPacked(bufferSource('e.packed', input.subarray(0, MOST_BYTES)));
      let end = 0;
      for (const [index, layer] of layers.entries()) {
        const begin = begins[index] as number;
        if (begin < end || begin % READ_ALIGNMENT !== 0) throw new Error(`layer ${index} begins at ${begin}`);
        end = begin + layer.experts * packedStride(layer);
      }
      if (end > input.length) throw new Error(`experts end at ${end} of ${input.length} bytes`);
      return 'packed experts';
    },
  };
}
