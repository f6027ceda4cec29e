/** A table of the thesis, with a remark for its readers. */
export interface HelmTable {
  /** Regular expression that matches the places of its cells. */
  readonly table: RegExp;
  readonly title: string;
  readonly note: string;
}

/** The tables in the order of the report. */
export const HELM_TABLES: readonly HelmTable[] = [
  {
    table: /^Table 6\.1$/,
    title: 'Table 6.1: decoding and TTFT by machine, model and system',
    note: 'Eager PyTorch (HELM, Accelerate, DeepSpeed) takes about as long for a block whatever its size, as long as the GPU finishes it in that time: 20 to 27 tok/s for 4B, 8B and 14B, on both servers. So a block takes the longer of its dispatch and its work. HELM’s TTFT has a time in addition to the prompt, fitted for each server to its 8B (43 and 5 ms); the baselines’ has none. Accelerate’s map keeps a tenth of the VRAM and room for its largest module; each token copies the other layers, and an untied output layer, from pageable memory.',
  },
  {
    table: /^Table 6\.2$/,
    title: 'Table 6.2: batches',
    note: 'A step of eight requests takes 2.7 to 3.5 times as long as one of one, where weights are read once for all of them (4.1.4): the roofline would leave it as it is. Of a block’s dispatch, attention is repeated for every request and every head (Algorithm 3 takes the query of one head), the rest is not; its share is fitted to the 8B. What a request adds falls and rises again in every row, most in the 14B’s, whose second request costs 30 ms and whose next two cost 20 ms together: no such law keeps the target there.',
  },
  {
    table: /^Table 6\.3$/,
    title: 'Table 6.3: the CPU’s kernel',
    note: 'The thesis states one rate of the fallback, 3.7 GB/s on the laptop, which is taken on the servers too. Had they as much for a core, as was taken before, the L40S’s 32B would come out −6.8 %, the 3090’s 14B +37 % and its 32B +307 %: the two splits of the 3090 imply rates that differ by a factor of two at least. A print of 0.1 tok/s is anything from 0.05 to 0.15.',
  },
  {
    table: /^Table 6\.4$/,
    title: 'Table 6.4: KV offload',
    note: 'Without KV offload a token takes twice as long even where all is in VRAM (L40S): a HuggingFace DynamicCache in place of HELM’s, whose cost no equation has. One factor on the dispatch of a GPU’s block, fitted to the L40S’s 8B, gives the other seven but the laptop’s 8B, which loses 101 ms with only 16 blocks on the GPU.',
  },
  {
    table: /^Table 6\.5$/,
    title: 'Table 6.5: measured latencies',
    note: 'T_plan + N δ̄ with the thesis’s own numbers stands next to each: the "Pred." that the thesis prints can’t be derived from its equations.',
  },
  {
    table: /^(§|Fig)/,
    title: 'Text and figures',
    note: 'Latencies that the text prints in addition to the tables.',
  },
];
