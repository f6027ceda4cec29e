/**
 * Entry of the bundle: everything that runs in a process or a thread of its own is a part of it, named by its path in
 * the project, which is the first argument.
 */
const PARTS: Readonly<Record<string, () => Promise<{ readonly default?: unknown }>>> = {
  'test/bench/gpu-kit/main.ts': () => import('./main.ts'),
  'test/bench/gpu-kit/step.ts': () => import('./step.ts'),
  'test/bench/gpu-kit/make-models.ts': () => import('./make-models.ts'),
  'test/bench/gpu-kit/ring-worker.ts': () => import('./ring-worker.ts'),
  'test/bench/engine/hearth-gpu-child.ts': () => import('../engine/hearth-gpu-child.ts'),
  'test/bench/engine/llama-child.ts': () => import('../engine/llama-child.ts'),
  'engine/gguf/make/worker.ts': () => import('../../../engine/gguf/make/worker.ts'),
};

// Processes that this one starts run as it does: by the box's own glibc where run.sh says so.
process.execPath = process.env.HEARTH_NODE ?? process.execPath;

const [name = ''] = process.argv.splice(2, 1);
const part = PARTS[name];
if (part === undefined) throw new Error(`no part of this program is called "${name}"`);
const loaded = await part();

/** The function that a thread's pool calls. */
export default loaded.default;
