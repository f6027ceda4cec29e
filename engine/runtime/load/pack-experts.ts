import { writeWholeFile } from '../../files/whole-file.ts';
import type { ByteSource } from '../../gguf/byte-source.ts';
import { openFile } from '../../gguf/file-source.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { InputError } from '../../input/input-error.ts';
import { shapesOnly } from '../pass/graph.ts';
import {
  encodePackedHeader,
  type PackedHeader,
  type PackedLayer,
  packedHeader,
  packedModelOf,
  packedStride,
} from '../weights/packed-experts.ts';
import type { PlacedExperts } from '../weights/placed-experts.ts';
import { routedLayers } from '../weights/routed-layers.ts';
import { weightsLoader } from '../weights/transformer-weights.ts';

export interface ExpertsToPack {
  /** The model's file. */
  readonly input: string;
  /** The file to write. */
  readonly path: string;
  /** Called before each expert, with the bytes that were written and those of the whole file. */
  readonly onExpert?: (layer: number, written: number, bytes: number) => void;
}

/**
 * Writes a mixture's experts to a file in which the matrices of each lie together. No more than a matrix is in memory; the
 * file gets its name once it is complete.
 * @returns the file's header
 * @throws InputError for a file that is no model, a model without experts, and a file that can't be written
 */
export async function packExperts({ input, path, onExpert }: ExpertsToPack): Promise<PackedHeader> {
  const { source, close } = openFile(input);
  try {
    const gguf = readGguf(source);
    const model = modelFromGguf(gguf);
    const { kernels } = shapesOnly(gguf);
    const file = { id: 0, path: input, size: gguf.fileBytes };
    const layers = routedLayers(model, weightsLoader({ gguf, bytes: source, file, kernels }, model));
    if (layers.size === 0) throw new InputError(input, 'has no experts; only those of mixtures are packed');
    const header = packedHeader(packedModelOf(model.name, gguf, source, layers), layers);
    await writeWholeFile(path, packedPieces(source, header, layers, onExpert));
    return header;
  } finally {
    close();
  }
}

function* packedPieces(
  source: ByteSource,
  header: PackedHeader,
  layers: ReadonlyMap<number, PlacedExperts>,
  onExpert: ExpertsToPack['onExpert'],
): Generator<Uint8Array> {
  const beginning = encodePackedHeader(header);
  yield beginning;
  const all = header.layers.reduce((sum, layer) => sum + layer.experts * packedStride(layer), beginning.length);
  let written = beginning.length;
  for (const packed of header.layers) {
    const { matrices } = layers.get(packed.layer) as PlacedExperts;
    for (let expert = 0; expert < packed.experts; expert++) {
      onExpert?.(packed.layer, written, all);
      for (const { rangeOf } of matrices) {
        const { from, to } = rangeOf(expert);
        yield source.read(from, to - from);
      }
      yield new Uint8Array(paddingOf(packed));
      written += packedStride(packed);
    }
  }
}

/** Bytes behind an expert up to the next whole page. */
function paddingOf(layer: PackedLayer): number {
  return packedStride(layer) - layer.matrices.reduce((sum, { bytes }) => sum + bytes, 0);
}
