import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { ready, setBackend } from '@tensorflow/tfjs-core';

/** An optional peer in package.json: its installer downloads a library, so only those who want it install it. */
const NATIVE = '@tensorflow/tfjs-node';

/**
 * Sets the backend that TensorFlow.js trains on: the native one if @tensorflow/tfjs-node is installed, else
 * WebAssembly. Products of the profiler's network are too small to gain from it: 30 epochs of 1000 samples took 1.5 to
 * 2.4 s, in plain JavaScript 1.3 to 1.6 s (4.22.0, by turns on a noisy Zen 4).
 */
export async function useTensorBackend(): Promise<void> {
  const isNative = await import(NATIVE).then(() => setBackend('tensorflow')).catch(() => false);
  if (!isNative) {
    const module = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
    setWasmPaths(`${dirname(module)}${sep}`);
    await setBackend('wasm');
  }
  await ready();
}
