import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { ByteSource } from '../../gguf/byte-source.ts';
import { partPaths } from '../../gguf/file-parts.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { formatBytes } from '../../input/format.ts';

/** A digest of 32 hexadecimal digits for each layer's weights, and under `outer` for the tensors outside the layers. */
export type WeightsDigests = ReadonlyMap<string, string>;

/** The form of a digest, and the name of what it is of. */
export const DIGEST = /^[0-9a-f]{32}$/;
export const DIGESTED = /^(\d{1,4}|outer)$/;

/** The layer of a tensor; `undefined` for the embedding, the output and other tensors outside the layers. */
export function layerOf(tensor: string): number | undefined {
  const number = /^blk\.(\d+)\./.exec(tensor)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** A part of the model whose weights differ between two files that both have it, such as `layer 3`. */
export function otherWeights(own: WeightsDigests, others: WeightsDigests): string | undefined {
  const part = [...others.keys()].find((key) => own.has(key) && own.get(key) !== others.get(key));
  if (part === undefined) return undefined;
  return part === 'outer' ? 'embedding and output' : `layer ${part}`;
}

/** Bytes read at a time. */
const PIECE = 2 ** 22;

/**
 * SHA-256 over all bytes of a file's weights, by layer: that of each layer over the names of its tensors, in order, each
 * with its own digest.
 */
export function weightsDigests(source: ByteSource, tensors: readonly GgufTensor[]): WeightsDigests {
  const ofTensors = new Map<string, string>();
  // In the order of the file, which disks read faster.
  for (const { name, offset, bytes } of tensors.toSorted((a, b) => a.offset - b.offset)) {
    const hash = createHash('sha256');
    for (let done = 0; done < bytes; done += PIECE)
      hash.update(source.read(offset + done, Math.min(PIECE, bytes - done)));
    ofTensors.set(name, hash.digest('hex'));
  }
  const hashes = new Map<string, ReturnType<typeof createHash>>();
  for (const name of [...ofTensors.keys()].sort()) {
    const part = String(layerOf(name) ?? 'outer');
    const hash = hashes.get(part) ?? createHash('sha256');
    hashes.set(part, hash.update(`${name} ${ofTensors.get(name)}\n`));
  }
  return new Map([...hashes].map(([part, hash]) => [part, hash.digest('hex').slice(0, 32)]));
}

/** Size in bytes from which on the log announces that a file is read as a whole, which takes some seconds. */
const LONG = 2 ** 30;
/** Milliseconds within which a file may change twice under one time of change: the tick of a kernel's clock. */
const TICK = 100;

/**
 * The digests of a file's weights, which are read once: they are kept in `FILE.digest` with the size, the place and the
 * times of the file, by which another file at this path, a copy or a change is told.
 * @param path of the model, or of the first of its parts
 */
export function keptWeightsDigests(
  path: string,
  { source, tensors }: { readonly source: ByteSource; readonly tensors: readonly GgufTensor[] },
  log: (line: string) => void,
): WeightsDigests {
  const kept = `${path}.digest`;
  const files = filesOf(path);
  const known = readKept(kept, files);
  if (known !== undefined) return known;
  if (source.size > LONG) log(`reads all of ${path}, ${formatBytes(source.size)}, for the digests in ${kept}`);
  const digests = weightsDigests(source, tensors);
  if (Date.now() - latestChange(path) > TICK && filesOf(path) === files) keep(kept, files, digests, log);
  return digests;
}

/** Text that tells a model's files from others and from earlier or later versions of themselves. */
function filesOf(path: string): string {
  const files = partPaths(path).map((part) => {
    const { size, ino, mtimeNs, ctimeNs } = statSync(part, { bigint: true });
    return `${size} bytes, inode ${ino}, modified ${mtimeNs}, changed ${ctimeNs}`;
  });
  return files.join('; ');
}

const latestChange = (path: string): number => Math.max(...partPaths(path).map((part) => statSync(part).ctimeMs));

/** Digests that were kept of just these files; `undefined` for none, others, and what is no file of digests. */
function readKept(kept: string, files: string): WeightsDigests | undefined {
  try {
    const { of, digests } = JSON.parse(readFileSync(kept, 'utf8')) as { of?: unknown; digests?: unknown };
    const entries = Object.entries(digests ?? {});
    const areDigests = entries.every(([part, digest]) => DIGESTED.test(part) && DIGEST.test(String(digest)));
    return of === files && entries.length > 0 && areDigests ? new Map(entries as [string, string][]) : undefined;
  } catch {
    return undefined;
  }
}

function keep(kept: string, files: string, digests: WeightsDigests, log: (line: string) => void): void {
  const unfinished = `${kept}.${process.pid}.tmp`;
  try {
    writeFileSync(unfinished, `${JSON.stringify({ of: files, digests: Object.fromEntries(digests) }, null, 2)}\n`);
    renameSync(unfinished, kept);
  } catch (error) {
    rmSync(unfinished, { force: true });
    log(
      `the digests of the weights are computed at every start: ${kept} can’t be written (${(error as NodeJS.ErrnoException).code})`,
    );
  }
}
