/** The contents of the reference kernels' matrices and caches, by id. */
export interface ReferenceMemory {
  readonly matrices: { readonly bytes: Uint8Array; readonly rowBytes: number }[];
  /** Values as the cache's format would hold them: rounded to half precision for F16. */
  readonly caches: { readonly keys: Float32Array; readonly values: Float32Array }[];
}
