/** The functions of a feed-forward part: activations of its gate, and how a router chooses experts. */

/**
 * Activation functions of a gate: silu(x) = x/(1 + e^−x), and gelu in the approximation by tanh,
 * gelu(x) = x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks and Gimpel 2016, Section 2). `clamped-silu` is that of
 * gpt-oss (OpenAI 2025, model card, Section 2.2): with g = min(gate, 7) and u = up between −7 and 7,
 * y = g/(1 + e^(−1.702·g))·(u + 1). `sigmoid` is 1/(1 + e^−x), `relu` is max(x, 0), whose product with x is its square,
 * and `identity` gives a plain product.
 */
export const ACTIVATIONS = ['silu', 'gelu', 'clamped-silu', 'sigmoid', 'relu', 'identity'] as const;
export type Activation = (typeof ACTIVATIONS)[number];

/** Bound of `clamped-silu`, and the factor of its exponent. */
export const CLAMP = 7;
export const CLAMPED_SLOPE = 1.702;

/**
 * Scores s of experts from a router's logits r: softmax(r), sigmoid(r), or `logits`: r itself, whose softmax over the chosen
 * experts is their weights.
 */
export const ROUTER_SCORES = ['softmax', 'sigmoid', 'logits'] as const;
export type RouterScores = (typeof ROUTER_SCORES)[number];

/** How experts are chosen and weighted. */
export interface Router {
  /** Experts of the layer, and those that a token uses. */
  readonly experts: number;
  readonly used: number;
  readonly scores: RouterScores;
  /** Whether weights are divided by their sum, or by 2⁻¹⁴ if that is less. */
  readonly normalised: boolean;
  /** Factor of the weights; missing: 1. */
  readonly factor?: number | undefined;
  /**
   * Experts are chosen in the best `used` of `count` groups of neighbours; the score of a group is the sum of its two
   * largest (DeepSeek-AI 2024, DeepSeek-V3, Section 2.1.2). Missing: among all.
   */
  readonly groups?: { readonly count: number; readonly used: number } | undefined;
}

/** Numbers of a choice: the expert and its weight. */
export const ROUTE_NUMBERS = 2;

/**
 * Experts of a layer that some tokens use together, if each token draws its own with equal chances, independently:
 * E·(1 − (1 − k/E)ⁿ). Tokens of a text share more of them.
 */
export function distinctExperts({ experts, used }: Pick<Router, 'experts' | 'used'>, tokens: number): number {
  return experts * (1 - (1 - used / experts) ** tokens);
}
