/** A part of a JSON schema that a text can't be held to, or that is no schema. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';

  /**
   * @param path of the key in the schema, such as `properties.name.pattern`; empty: the schema itself
   * @param kind whether the key is one of JSON schema that is not supported, or a mistake
   * @param tool the number of the tool whose schema it is
   */
  constructor(
    readonly path: string,
    readonly kind: 'unsupported' | 'invalid',
    readonly problem: string,
    readonly tool?: number,
  ) {
    super(`${path}: ${problem}`);
  }
}

/** Called with each part of a schema that values aren't held to. */
export type Relax = (problem: SchemaError) => void;
