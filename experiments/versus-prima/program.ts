import { LAB_SHAPES } from '../../datasets/lab/shapes.ts';
import type { MeasuredRun } from '../../datasets/measured.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { formatPercent } from '../../engine/input/format.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import { type TokenFigures, tokenFigures } from '../../engine/trace/token-figures.ts';
import { MEASURED_OS_RATES, type PagePolicy } from '../../simulator/page-cache/policies.ts';
import { simulate } from '../../simulator/simulate.ts';
import { median } from '../report/median.ts';

/**
 * prima.cpp's program (commit bdf9d8e, src/llama.cpp) in simulation. What its source says, and nothing else, differs
 * from a lab of Hearth's:
 * - every rank maps the whole model's file, so that what is read ahead past a window is another rank's and lost;
 * - POSIX_FADV_SEQUENTIAL on the file doubles its readahead (mm/fadvise.c);
 * - `--prefetch` advises the next window once, inline, of which Linux reads no more than its readahead;
 * - `--force` then touches every page of it, which populates it.
 */

/** A recorded run, and the simulation's answer to it. */
export interface ProgramAnswer {
  readonly run: MeasuredRun;
  /** Hearth in prima.cpp's manner, on a lab; `undefined` if it wasn't measured. */
  readonly emulated: MeasuredRun | undefined;
  readonly simulated: Pick<TokenFigures, 'seconds' | 'bytes'>;
}

const DEVICES = ['one', 'two', 'three', 'four'] as const;
/** As measured: blkio throttles of 200 MB/s in front of a faster disk, read_ahead_kb 8192. */
const DISK_RATE = 200e6;
const WHOLE_DISK_RATE = 2e9;
const READ_AHEAD = 2 * 8192 * 2 ** 10;
/** Page faults without readahead on this kind of disk; no run has them. */
const RANDOM_RATE = 60e6;
const SLICE_SECONDS = 0.1;
/** Assumed: loopback. */
const LINK = { latency: '0.1 ms', bandwidth: '10 GB/s' } as const;
/** Memory of a rank without a limit, in quarters of the weights. */
const UNLIMITED = 4;
/** Tokens of a run. */
const TOKENS = 17;

/**
 * Memory of a rank's process inside its limit, in addition to weights: KV cache, buffers, stacks. It was not recorded.
 * Inferred from one run, `--prefetch --force` with k = 2: its windows fit next to 40 MiB and don't next to 68 MiB,
 * where a token takes
 * 3.5 and 9.4 s.
 */
const PROCESS_BYTES = 60 * 2 ** 20;

/** Inferred from the run with unlimited memory, 0.101 s a token: the rate at which a rank goes through its weights. */
const UNLIMITED_SECONDS = 0.1005;

/** Whether a row had a part in the two inferred values; all others are blind. */
export function isFitted({ program, flags, rounds, memoryShare }: MeasuredRun): boolean {
  return program === 'prima.cpp' && (memoryShare === undefined || (flags === '--prefetch --force' && rounds === 2));
}

/** Simulates the runs of prima.cpp's program among those on file. */
export function programAnswers(all: readonly MeasuredRun[]): ProgramAnswer[] {
  const isAlike = (run: MeasuredRun) => (one: MeasuredRun) =>
    one.program === 'Hearth' &&
    one.prefetch === run.prefetch &&
    one.memoryShare === run.memoryShare &&
    one.windows.join() === run.windows.join();
  return all
    .filter(({ program }) => program === 'prima.cpp')
    .map((run) => ({ run, emulated: all.find(isAlike(run)), simulated: simulatedRun(run) }));
}

function simulatedRun(run: MeasuredRun): TokenFigures {
  const model = createModel(LAB_SHAPES.medium, 'F16');
  const windows = DEVICES.map((device, index) => ({ device, layers: run.windows[index] ?? 0, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: DEVICES[0], rounds: run.rounds, windows });
  const weights = Object.fromEntries(DEVICES.map((device) => [device, policyOf(run)]));
  const { trace } = simulate({
    plan: { ...plan, weights },
    model,
    workload: createWorkload({ promptTokens: 1, outputTokens: TOKENS - 1, context: TOKENS }),
    cluster: clusterOf(run, model),
    runtime: RUNTIME,
    reclaim: RECLAIM,
    files: 'whole',
    throttle: { sliceSeconds: SLICE_SECONDS, diskRate: WHOLE_DISK_RATE },
    chunkBytes: 4 * 2 ** 20,
    extentBytes: 2 ** 16,
  });
  return tokenFigures(trace);
}

/** The aim for the simulated TPOT of every run. */
const AIM = 0.15;

/** The accuracy of the simulation over the runs that no value was inferred from. */
export function programFinding(answers: readonly ProgramAnswer[]): string {
  const errors = answers.map(({ run, simulated }) => simulated.seconds / run.tokenSeconds);
  const kept = errors.filter((ratio) => Math.abs(ratio - 1) <= AIM).length;
  const blind = errors.filter((_, index) => !isFitted((answers[index] as ProgramAnswer).run));
  const off = blind.map((ratio) => Math.abs(ratio - 1));
  return (
    `prima.cpp’s own program: simulated within ${100 * AIM} % in ${kept} of ${answers.length} runs; over the ${blind.length} ` +
    `that no value was inferred from, ${formatPercent(median(off))} off in the median and ${formatPercent(Math.max(...off))} at worst.`
  );
}

/** Its buffers count as the process's memory. */
const RUNTIME: Runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 };
const RECLAIM: PagePolicy = { name: 'linux-two-list', readAhead: READ_AHEAD, osRates: MEASURED_OS_RATES };

function policyOf({ prefetch }: MeasuredRun): WeightsPolicy {
  switch (prefetch) {
    case 'touched':
      return { prefetch: 'populate', release: 'none' };
    case 'none':
    case 'willneed-whole':
      return { prefetch, release: 'none' };
    case 'pinned':
      return { prefetch: 'populate', release: 'pinned', pinned: 'fit' };
  }
}

/** Four ranks, each in a control group of its own; arithmetic takes no time compared with reading memory. */
function clusterOf({ memoryShare }: MeasuredRun, model: Model): Cluster {
  const limit = (memoryShare ?? UNLIMITED) * ((model.layers * model.layer.bytes) / DEVICES.length);
  const rank = {
    os: 'linux',
    memory: { total: `${limit} B`, available: `${limit - PROCESS_BYTES} B` },
    cpu: { cores: 1, compute: '10 TFLOPS', bandwidth: `${model.bytes / UNLIMITED_SECONDS} B/s` },
    disk: { sequential: `${DISK_RATE} B/s`, random: `${RANDOM_RATE} B/s` },
  };
  const devices = DEVICES.map((name) => ({ name, ...rank }));
  return parseCluster(JSON.stringify({ name: 'four ranks', devices, links: { default: LINK } }), 'prima.cpp');
}
