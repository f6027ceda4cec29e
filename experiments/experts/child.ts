import { readFileSync } from 'node:fs';
import type { ExpertReads } from '../../engine/experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { parseRoutings } from '../../engine/experts/recorded/parse-routings.ts';
import type { Routing } from '../../engine/experts/routing.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { ExpertAccess } from '../../engine/runtime/weights/layer-experts.ts';
import { noReads } from '../../engine/runtime/weights/layer-experts.ts';
import { heldBytes, processReadBytes } from '../../engine/runtime/weights/process-counters.ts';

/** A run that a process is asked for. */
export interface ExpertsTask {
  readonly model: string;
  /** A file with a single routing of the model's shape. */
  readonly routing: string;
  readonly tokens: number;
  /** Tokens at the beginning that fill the caches and aren't counted. */
  readonly warmUp: number;
  readonly threads: number;
  readonly policy: ExpertsPolicy;
  readonly memory: number | undefined;
}

/** Measurements of the tokens that count, and all accesses. */
export interface ExpertsMeasured {
  /** Seconds of each token that counts. */
  readonly seconds: readonly number[];
  readonly reads: ExpertReads;
  /** Bytes that the process read from disk, by its own count. */
  readonly processBytes: number | undefined;
  /** Bytes of memory that the process holds at the end and that can't be reclaimed; `undefined` where they aren't counted. */
  readonly heldBytes: number | undefined;
  readonly accesses: readonly ExpertAccess[];
}

/** Runs tokens of a mixture, and prints an ExpertsMeasured as JSON. */
function main(): void {
  const task = JSON.parse(process.argv[2] ?? '') as ExpertsTask;
  const { model, tokens, warmUp, policy, memory } = task;
  const [routing] = [...parseRoutings(readFileSync(task.routing, 'utf8'), task.routing).values()] as [Routing];
  const kernels = openKernels({ implementation: 'native', threads: task.threads });
  const accesses: ExpertAccess[] = [];
  // Ranks without end are null in JSON.
  const { lookahead } = policy;
  const ranks = lookahead.kind === 'next-router' ? (lookahead.ranks ?? Number.POSITIVE_INFINITY) : 0;
  const transformer = loadTransformer(model, {
    ...{ kernels, routing, memory, context: tokens, warn: () => {} },
    experts: { ...policy, lookahead: lookahead.kind === 'next-router' ? { ...lookahead, ranks } : lookahead },
    onExperts: (access) => accesses.push(access),
  });
  const seconds: number[] = [];
  const reads = transformer.expertReads ?? noReads();
  let [before, bytes] = [{ ...reads }, processReadBytes()];
  for (let token = 0; token < tokens; token++) {
    if (token === warmUp) [before, bytes] = [{ ...reads }, processReadBytes()];
    const begin = performance.now();
    transformer.evaluate([1 + (token % 200)]);
    if (token >= warmUp) seconds.push((performance.now() - begin) / 1000);
  }
  const after = processReadBytes();
  const difference = Object.fromEntries(
    Object.keys(before).map((key) => [key, reads[key as keyof ExpertReads] - before[key as keyof ExpertReads]]),
  );
  const measured: ExpertsMeasured = {
    ...{ seconds, accesses, heldBytes: heldBytes() },
    reads: difference as unknown as ExpertReads,
    processBytes: bytes === undefined || after === undefined ? undefined : after - bytes,
  };
  process.stdout.write(JSON.stringify(measured));
  kernels.close();
}

main();
