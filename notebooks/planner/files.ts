import { bufferSource } from '../../engine/gguf/byte-source.ts';
import { GGUF_LIMITS } from '../../engine/gguf/limits.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { parseModels } from '../../engine/gguf/parse-models.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { createModel, type Model } from '../../engine/model/model.ts';

/** Contents of a file that is dropped on the page. */
export type DroppedFile =
  | { readonly kind: 'cluster'; readonly text: string }
  | { readonly kind: 'models'; readonly models: readonly Model[] };

/** Cluster files and models files are small; a larger text is something else. */
const MOST_TEXT_BYTES = 2 ** 20;

/**
 * Reads a dropped file: a cluster (JSON), rows of models (CSV), or a GGUF file, of which the header alone is read.
 * @throws InputError for a file that is none of these
 */
export async function readDropped(file: File, mix: FileMix): Promise<DroppedFile> {
  const beginning = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  if (new TextDecoder().decode(beginning) === 'GGUF') {
    const bytes = new Uint8Array(await file.slice(0, GGUF_LIMITS.headerBytes).arrayBuffer());
    const source = { ...bufferSource(file.name, bytes), size: file.size };
    return { kind: 'models', models: [modelFromGguf(readGguf(source))] };
  }
  const text = await file.slice(0, MOST_TEXT_BYTES).text();
  if (/^\s*[{[]/.test(text)) {
    parseCluster(text, file.name);
    return { kind: 'cluster', text };
  }
  return { kind: 'models', models: parseModels(text, file.name).map(({ shape }) => createModel(shape, mix)) };
}
