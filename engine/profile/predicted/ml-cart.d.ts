/** The part of ml-cart that is used here; the package has no types. */
declare module 'ml-cart' {
  export class DecisionTreeRegression {
    constructor(options?: { readonly minNumSamples?: number; readonly maxDepth?: number });
    train(inputs: readonly (readonly number[])[], values: readonly number[]): void;
    predict(inputs: readonly (readonly number[])[]): number[];
  }
}
