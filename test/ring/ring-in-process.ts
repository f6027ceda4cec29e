import { MOST_CHUNK_TOKENS } from '../../engine/batch/pass-frames.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Window } from '../../engine/plan/windows.ts';
import { type LoadedPart, loadPart } from '../../engine/ring/device/loaded-part.ts';
import { type RunningWorker, startWorker, type WorkerOptions } from '../../engine/ring/device/worker.ts';
import type { RingSettings } from '../../engine/ring/head/assignments.ts';
import { type HeadOptions, type RingHead, startHead } from '../../engine/ring/head/head.ts';
import { type RecoveringRing, recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import type { MemberAddress } from '../../engine/ring/head/member.ts';
import type { RingLayout } from '../../engine/ring/head/planning.ts';
import type { RingPages } from '../../engine/ring/head/ring-texts.ts';
import { createKeys, type KeyPair } from '../../engine/ring/wire/keys.ts';

export const SETTINGS: RingSettings = {
  context: 256,
  requests: 2,
  pageTokens: 256,
  kvCache: 'F32',
  activations: 'F32',
  chunk: 32,
  trace: true,
};

export const loadOnOneThread = (path: string): LoadedPart =>
  loadPart(path, openKernels({ threads: 1 }), MOST_CHUNK_TOKENS);

/** A worker in this process, and its log. */
export interface LoggedWorker {
  readonly worker: RunningWorker;
  readonly member: MemberAddress;
  readonly log: string[];
  readonly loaded: LoadedPart;
}

export async function workerHere(
  name: string,
  path: string,
  { headKeys, ...options }: Partial<WorkerOptions> & { readonly headKeys: KeyPair | undefined },
): Promise<LoggedWorker> {
  const log: string[] = [];
  const keys = headKeys === undefined ? undefined : createKeys();
  const loaded = loadOnOneThread(path);
  const worker = await startWorker({
    loaded,
    gpu: undefined,
    address: 'tcp://127.0.0.1:*',
    keys,
    heads: headKeys === undefined ? [] : [headKeys.publicKey],
    memory: 2 ** 30,
    memoryLimit: 2 ** 31,
    profile: async () => '{}',
    log: (line) => log.push(line),
    ...options,
  });
  return { worker, member: { name, address: worker.address, publicKey: keys?.publicKey }, log, loaded };
}

export function headHere(
  path: string,
  members: readonly MemberAddress[],
  options: Partial<HeadOptions> = {},
): { readonly head: RingHead; readonly log: string[] } {
  const log: string[] = [];
  const head = startHead({
    name: 'head',
    loaded: loadOnOneThread(path),
    gpu: undefined,
    keys: undefined,
    members,
    settings: SETTINGS,
    memory: 2 ** 30,
    memoryLimit: 2 ** 31,
    log: (line) => log.push(line),
    ...options,
  });
  return { head, log };
}

/** Texts of one page each, in the rings of these tests. */
export const wholeTexts = (contextLength: number, pages = 2): RingPages => {
  return { contextLength, pages, pageTokens: contextLength };
};

/** A request of an assembled ring of whole texts, at most two at once, which adds tokens in passes of its own. */
export function requestOf(head: Pick<RingHead, 'request' | 'evaluate'>) {
  const request = head.request();
  let position = 0;
  return {
    /** @returns logits of the last token: [vocabulary] */
    async evaluate(tokens: readonly number[]): Promise<Float32Array> {
      const work = { request, pages: [request % 2], tokens, position, rows: 1, multiplied: undefined };
      position += tokens.length;
      const [logits] = await head.evaluate([work]);
      return logits as Float32Array;
    },
  };
}

/** A ring of equal windows that recovers from losses, with its head's log. */
export const recoveringHere = ({ head, log }: ReturnType<typeof headHere>, layers: number): RecoveringRing =>
  recoveringRing(
    head,
    (devices) => equalLayout(devices, layers),
    (line) => log.push(line),
  );

/** A layout whose weights are left to the operating system. */
export const layoutOf = (windows: readonly Window[]): RingLayout => ({ windows, weights: {} });

/** Windows of equal size for these devices, one after another, `rounds` times. */
export function equalLayout(devices: readonly string[], layers: number, rounds = 1): RingLayout {
  const visits = Array.from({ length: rounds }, () => devices).flat();
  const cut = (index: number): number => Math.round((layers * index) / visits.length);
  const windows = visits
    .map((device, index) => ({ device, from: cut(index), to: cut(index + 1) }))
    .filter(({ from, to }) => to > from);
  return layoutOf(windows);
}
