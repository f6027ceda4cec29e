import { join } from 'node:path';
import { withFile } from '../../gguf/file-source.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { writeGguf } from '../../gguf/write-gguf.ts';
import { InputError } from '../../input/input-error.ts';
import type { Plan } from '../../plan/plan.ts';
import { ringWindows } from '../../plan/ring-windows.ts';
import { partMetadata, readPartFile } from './part-file.ts';
import { keptWeightsDigests, layerOf } from './weights-digests.ts';

/** Bytes copied at a time. */
const PIECE = 2 ** 22;

/** The file that was written for a device. */
export interface WrittenPart {
  readonly device: string;
  readonly path: string;
  readonly layers: number;
  readonly bytes: number;
}

/**
 * Writes a file `DEVICE.gguf` for every device of a plan, with the layers that the device runs. The head's file also has
 * the embedding and the output.
 * @param allow called with every file before the first is written; may throw
 * @param log called before a long file is read as a whole
 * @throws InputError for files that can't be read or written, and plans that the ring can't carry out
 */
export async function splitModel(
  path: string,
  plan: Plan,
  folder: string,
  allow: (path: string) => void = () => {},
  log: (line: string) => void = () => {},
): Promise<WrittenPart[]> {
  const gguf = withFile(path, readGguf);
  const file = readPartFile(gguf);
  modelFromGguf(gguf);
  const own = withFile(path, (source) => keptWeightsDigests(path, { source, tensors: gguf.tensors }, log));
  const digests = new Map([...file.digests, ...own]);
  const head = plan.embedding.device;
  const windows = ringWindows(plan);
  const devices = new Set([head, ...windows.map((window) => window.device)]);
  const targetOf = (device: string): string => join(folder, `${device}.gguf`);
  for (const device of devices) {
    if (/[/\\]/.test(device))
      throw new InputError(`plan: device "${device}"`, 'has a slash; files are named after devices');
    allow(targetOf(device));
  }
  const written: WrittenPart[] = [];
  for (const device of devices) {
    const own = windows.filter((window) => window.device === device);
    const has = (name: string): boolean => {
      const layer = layerOf(name);
      if (layer === undefined) return device === head || name.startsWith('rope_');
      return own.some(({ from, to }) => layer >= from && layer < to);
    };
    const tensors = gguf.tensors.filter(({ name }) => has(name));
    const target = targetOf(device);
    const sources = tensors.map((tensor) => ({ ...tensor, pieces: () => pieces(path, tensor) }));
    await writeGguf(target, partMetadata(file, digests), sources);
    const layers = own.reduce((sum, { from, to }) => sum + to - from, 0);
    written.push({ device, path: target, layers, bytes: tensors.reduce((sum, { bytes }) => sum + bytes, 0) });
  }
  return written;
}

function* pieces(path: string, { offset, bytes }: GgufTensor): Iterable<Uint8Array> {
  for (let done = 0; done < bytes; done += PIECE)
    yield withFile(path, (source) => source.read(offset + done, Math.min(PIECE, bytes - done)));
}
