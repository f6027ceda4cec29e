/** A lesson: its page, its title, the claim that it lets the reader check, and how long reading and trying takes. */
export interface Lesson {
  readonly page: string;
  readonly title: string;
  readonly claim: string;
  /** Estimated. */
  readonly minutes: number;
  /** The lesson's last sentence: leads to the next one, and from the last to the planner. */
  readonly leads: string;
}

/** In the order in which they build on each other. */
export const LESSONS: readonly Lesson[] = [
  {
    page: 'what-a-token-costs',
    title: 'What a token costs',
    minutes: 10,
    claim: 'Every weight is read once for every token, so that memory and disk decide, and arithmetic hardly counts.',
    leads:
      'The 70B in 4 bits is about four times as large as the PC’s free memory; what the system does with the rest comes next.',
  },
  {
    page: 'when-weights-dont-fit',
    title: 'When weights don’t fit',
    minutes: 10,
    claim: 'A cyclic scan over a least-recently-used list reads everything again, even if almost all of it fits.',
    leads: 'If a machine must read anyway, it can do so before its turn comes; that helps, or doubles the reading.',
  },
  {
    page: 'prefetch-release-rounds',
    title: 'Prefetch, release, rounds',
    minutes: 15,
    claim:
      'Prefetching more than memory holds reads everything twice; short windows cure it, and a pinned prefix reads less.',
    leads: 'How many layers a machine should have in the first place is decided before, by a scheduler.',
  },
  {
    page: 'who-gets-which-layers',
    title: 'Who gets which layers',
    minutes: 20,
    claim:
      'Halda solves each of its programs exactly, but guesses which devices run short of memory; a wrong guess costs more than the arithmetic gains.',
    leads: 'The layers are placed; now watch a token go round the four machines.',
  },
  {
    page: 'a-ring-played',
    title: 'A pipelined ring, played',
    minutes: 15,
    claim: 'Reading that ends before a device’s turn costs nothing; only what comes too late delays the token.',
    leads: 'Two of the four machines have a graphics card as well, which takes some of their layers: how many?',
  },
  {
    page: 'half-on-the-gpu',
    title: 'Half on the GPU',
    minutes: 10,
    claim:
      'Every layer on the GPU makes a token faster, and the GPU’s memory, which the KV cache shares, decides how many fit.',
    leads: 'If keys and values push layers out of the GPU, they had better be cut into pages, and move one by one.',
  },
  {
    page: 'a-cache-with-pages',
    title: 'A cache with pages',
    minutes: 20,
    claim:
      'Attention needs one page of the context at a time and three numbers between them, so the KV cache need not fit the GPU.',
    leads: 'All of this counts keys and values of equal layers; models of today mix several kinds.',
  },
  {
    page: 'layers-that-differ',
    title: 'Layers that differ',
    minutes: 10,
    claim:
      'Layers with windows, narrow rows or a state read little of a long context; the few that read all of it decide what it costs.',
    leads:
      'The mixture reads little of the past, and little of its weights too: most of its experts can wait on a disk.',
  },
  {
    page: 'experts-on-a-disk',
    title: 'Experts on a disk',
    minutes: 15,
    claim:
      'More slots for a mixture’s experts hit more, up to the one that takes memory from the rest: behind it a hit costs what a miss did.',
    leads:
      'So far whole layers and experts were placed; on a phone’s chip even one tensor can be shared, if one knows what its NPU likes.',
  },
  {
    page: 'an-npus-temper',
    title: 'An NPU’s temper',
    minutes: 10,
    claim:
      'An NPU is fast for some sizes, orders and shapes only: exchange the operands of a product, and it is several times as slow.',
    leads: 'Where the fast processor has such a temper, the slow one can take over a part of its work.',
  },
  {
    page: 'one-tensor-cut-in-two',
    title: 'One tensor, cut in two',
    minutes: 10,
    claim:
      'Cut in two, a product takes as long as the later of GPU and NPU, so that the best cut is where both end at about the same time.',
    leads: 'Cuts fix the rows; the tokens are a question of their own, since an NPU knows few lengths.',
  },
  {
    page: 'prompts-that-fit-no-graph',
    title: 'Prompts that fit no graph',
    minutes: 10,
    claim:
      'An NPU runs graphs of fixed lengths: padding wastes up to half of its work, and leaving the remainder to the GPU is faster at every length.',
    leads: 'You know now where layers, experts and tensors go; next, look into a model while it runs.',
  },
  {
    page: 'a-model-in-the-page',
    title: 'A model in the page',
    minutes: 10,
    claim:
      'A pass uses every layer once, in order; how many stay in memory changes what is read, never what is written.',
    leads: 'Apart from the weights a pass needs one thing more: keys and values of all tokens before.',
  },
  {
    page: 'what-a-head-looks-at',
    title: 'What a head looks at',
    minutes: 10,
    claim:
      'A head gives every earlier position a weight, and they sum to 1: keys and values of the whole text are needed for each new token.',
    leads: 'Heads collect, and layers add; from one layer to the next an answer forms.',
  },
  {
    page: 'an-answer-layer-by-layer',
    title: 'An answer, layer by layer',
    minutes: 10,
    claim:
      'Each layer adds to what it was given: some tokens are decided early, others by the last layers only, and nobody knows before which.',
    leads: 'What the last layer leaves are probabilities, of which one token must still be drawn.',
  },
  {
    page: 'drawing-a-token',
    title: 'Drawing a token',
    minutes: 10,
    claim:
      'The model gives every token a probability; temperature, top-k and top-p decide which is written, and never what it costs.',
    leads: 'One question is left, for all machines and models alike: how far can such predictions be trusted?',
  },
  {
    page: 'three-answers',
    title: 'Three answers',
    minutes: 15,
    claim: 'Where prediction, simulation and measurement part, one has left something out, and that is what counts.',
    leads: 'Now ask for your own machines: the planner computes with the same functions what they can run.',
  },
];
