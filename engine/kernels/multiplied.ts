/**
 * Native kernels and those of a GPU have two ways, which round differently: one for a single token, one for many, on
 * packed activations or in tiles. `singly` and `together` give every token the result that it has alone, and among
 * many, whatever number of tokens there are. Default: by the number of tokens. Reference kernels have one way.
 */
export type Multiplied = 'singly' | 'together';
