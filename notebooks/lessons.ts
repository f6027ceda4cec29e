/** A lesson: its page, its title, the claim that it lets the reader check, and how long reading and trying takes. */
export interface Lesson {
  readonly page: string;
  readonly title: string;
  readonly claim: string;
  /** Estimated. */
  readonly minutes: number;
}

/** In the order in which they build on each other. */
export const LESSONS: readonly Lesson[] = [
  {
    page: 'what-a-token-costs',
    title: 'What a token costs',
    minutes: 10,
    claim: 'Every weight is read once for every token, so that memory and disk decide, and arithmetic hardly counts.',
  },
  {
    page: 'when-weights-dont-fit',
    title: 'When weights don’t fit',
    minutes: 10,
    claim: 'A cyclic scan over a least-recently-used list reads everything again, even if almost all of it fits.',
  },
  {
    page: 'prefetch-release-rounds',
    title: 'Prefetch, release, rounds',
    minutes: 15,
    claim:
      'Prefetching more than memory holds reads everything twice; short windows cure it, and a pinned prefix reads less.',
  },
  {
    page: 'who-gets-which-layers',
    title: 'Who gets which layers',
    minutes: 20,
    claim:
      'Halda solves each of its programs exactly, but guesses which devices run short of memory; a wrong guess costs more than the arithmetic gains.',
  },
  {
    page: 'a-ring-played',
    title: 'A pipelined ring, played',
    minutes: 15,
    claim: 'Reading that ends before a device’s turn costs nothing; only what comes too late delays the token.',
  },
  {
    page: 'half-on-the-gpu',
    title: 'Half on the GPU',
    minutes: 10,
    claim:
      'Every layer on the GPU makes a token faster, and the GPU’s memory, which the KV cache shares, decides how many fit.',
  },
  {
    page: 'a-cache-with-pages',
    title: 'A cache with pages',
    minutes: 20,
    claim:
      'Attention needs one page of the context at a time and three numbers between them, so the KV cache need not fit the GPU.',
  },
  {
    page: 'layers-that-differ',
    title: 'Layers that differ',
    minutes: 10,
    claim:
      'Layers with windows, narrow rows or a state read little of a long context; the few that read all of it decide what it costs.',
  },
  {
    page: 'an-npus-temper',
    title: 'An NPU’s temper',
    minutes: 20,
    claim:
      'An NPU is fast for some sizes, orders and shapes only, so that the best is to cut tensors between it and the GPU.',
  },
  {
    page: 'experts-on-a-disk',
    title: 'Experts on a disk',
    minutes: 15,
    claim:
      'More slots for a mixture’s experts hit more, up to the one that takes memory from the rest: behind it a hit costs what a miss did.',
  },
  {
    page: 'a-model-in-the-page',
    title: 'A model in the page',
    minutes: 25,
    claim:
      'A pass uses every layer once, in order; how many stay in memory changes what is read, never what is written.',
  },
  {
    page: 'three-answers',
    title: 'Three answers',
    minutes: 15,
    claim: 'Where prediction, simulation and measurement part, one has left something out, and that is what counts.',
  },
];
