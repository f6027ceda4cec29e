/** Keys and values of one layer, each [kvHeads][capacity][headSize]: a head's positions lie one after another. */
export interface KeyValueCacheShape {
  readonly type: 'F16' | 'F32';
  readonly kvHeads: number;
  /** Positions. */
  readonly capacity: number;
  readonly headSize: number;
}

export interface KeyValueCache extends KeyValueCacheShape {
  readonly id: number;
}
