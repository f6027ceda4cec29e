import { InputError } from '../../input/input-error.ts';
import { QUANTIZATIONS } from '../../model/quantization.ts';
import { checkCache, checkMatrix, checkOperation, placeCheck, sharedValues } from '../checks.ts';
import type { FilePages } from '../file-pages.ts';
import { joinPages } from '../join-pages.ts';
import type { Kernels } from '../kernels.ts';
import type { CacheFile } from '../key-value-cache.ts';
import { type MappedFile, mapParts, placeInFile } from '../matrix.ts';
import type { Operation } from '../operation.ts';
import { vectorOver } from '../vector.ts';
import { mappedFileError, type NativeAddon, type NativePages, reserved } from './addon.ts';
import { cacheFile } from './cache-file.ts';
import { type CommandBuffer, encode } from './commands.ts';
import { filePages } from './file-pages.ts';

export interface NativeOptions {
  readonly threads: number;
  /** One of the addon's instruction sets, or "auto" for the fastest. */
  readonly instructionSet: string;
  /** Whether each of the kernels' own threads is bound to one processor. */
  readonly pin: boolean;
  /** Whether the factors of products are rounded less, at the cost of speed (KernelOptions.exact). Default: false. */
  readonly exact?: boolean;
  /** Whether they are rounded more, for speed (KernelOptions.fast). Default: false. */
  readonly fast?: boolean;
}

/** Kernels in C++. The addon knows formats by their numbers in GGUF files. */
export function nativeKernels(addon: NativeAddon, options: NativeOptions): Kernels {
  const { threads, instructionSet, pin, exact = false, fast = false } = options;
  const engine = new addon.Engine(instructionSet, threads, pin, exact, fast);
  const paths: string[] = [];
  const allPages: FilePages[] = [];
  const cacheFiles: CacheFile[] = [];
  const commands: CommandBuffer = { numbers: new Float64Array(1024), count: 0 };
  let place = new Float64Array(64);
  const encodeAll = (operations: readonly Operation[]): void => {
    commands.count = 0;
    for (const operation of operations) {
      checkOperation(operation);
      encode(commands, operation);
    }
  };
  const mapOne = (path: string): MappedFile => {
    try {
      const [id, size] = engine.mapFile(path);
      paths[id] = path;
      return { id, path, size };
    } catch (error) {
      throw new InputError(path, (error as Error).message);
    }
  };
  return {
    name: 'native',
    instructionSet: engine.instructionSet,
    threads,
    mapFile: (path) => mapParts(path, mapOne),
    pages(file, { threads = 1, cached = false } = {}) {
      const parts = file.parts ?? [{ file, from: 0, size: file.size }];
      const natives = parts.map((part) => engine.pages(part.file.id, threads, !cached));
      for (const native of natives.slice(1)) native.shareBuffers(natives[0] as NativePages);
      const opened = joinPages(
        parts.map((part, index) => ({ ...part, pages: filePages(natives[index] as NativePages, part.file.path) })),
      );
      allPages.push(opened);
      return opened;
    },
    matrix(matrix) {
      const bytes = checkMatrix(matrix);
      const { source, offset = 0, type, rows, columns } = matrix;
      const format = QUANTIZATIONS[type].ggmlType;
      if (source instanceof Uint8Array) {
        const id = engine.matrix(source.subarray(offset, offset + bytes), format, rows, columns);
        return { id, type, rows, columns };
      }
      const place = placeInFile(source, offset);
      return { id: engine.mappedMatrix(place.file.id, place.offset, format, rows, columns), type, rows, columns };
    },
    vector(contents) {
      const length = typeof contents === 'number' ? contents : contents.length;
      const [id, values] = reserved(`a vector of ${length} values`, () => engine.vector(length));
      if (typeof contents !== 'number') values.set(contents);
      return vectorOver(id, values);
    },
    sharedVector: (values) => vectorOver(engine.sharedVector(sharedValues(values)), values),
    cache(shape) {
      checkCache(shape);
      const { type, kvHeads, capacity, headSize } = shape;
      const format = QUANTIZATIONS[type].ggmlType;
      const what = `a layer’s KV cache for ${capacity} tokens`;
      return { ...shape, id: reserved(what, () => engine.cache(format, kvHeads, capacity, headSize)) };
    },
    cacheFile({ folder }, { id }) {
      const file = cacheFile(folder, () => engine.cacheFile(folder, id));
      cacheFiles.push(file);
      return file;
    },
    copyCache: (from, to) => engine.copyCache(from.id, to.id),
    freeCache({ id }) {
      engine.freeCache(id);
    },
    run(operations) {
      encodeAll(operations);
      try {
        engine.run(commands.numbers, commands.count);
      } catch (error) {
        throw mappedFileError(error, paths);
      }
    },
    prepare(operations) {
      if (operations.some(({ kind }) => kind === 'attend-pages'))
        throw new RangeError('attend-pages: pages have places of their own; such operations are not prepared');
      encodeAll(operations);
      const program = engine.prepare(commands.numbers, commands.count);
      const check = placeCheck(operations);
      const numbersOf = (...parts: readonly (readonly number[])[]): number => {
        const count = parts.reduce((sum, { length }) => sum + length, 0);
        if (place.length < count) place = new Float64Array(2 * count);
        let at = 0;
        for (const part of parts) {
          place.set(part, at);
          at += part.length;
        }
        return count;
      };
      const reading = <Result>(work: () => Result): Result => {
        try {
          return work();
        } catch (error) {
          throw mappedFileError(error, paths);
        }
      };
      return {
        run(tokens, position) {
          check(tokens, position);
          const count = numbersOf([position], tokens);
          reading(() => engine.runPrepared(program, place, count));
        },
        writeGreedily({ known, position, most, leastLead, ends, angles, passAngles, logits }) {
          for (const [index, token] of known.entries()) check([token], position + index);
          check(known.slice(-1), position + known.length + most - 2);
          const count = numbersOf(
            [passAngles.id, passAngles.offset, passAngles.values.length],
            [logits.id, logits.offset, logits.values.length],
            [leastLead, most, position, known.length],
            known,
            [...ends],
          );
          const [passes = 0, ...tokens] = reading(() => engine.writeGreedily(program, place, count, angles));
          return { tokens, passes };
        },
      };
    },
    write() {},
    read: () => undefined,
    again: () => nativeKernels(addon, options),
    close() {
      for (const opened of allPages.splice(0)) opened.close();
      for (const file of cacheFiles.splice(0)) file.close();
      engine.close();
    },
  };
}
