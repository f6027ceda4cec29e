#pragma once
#include <cstddef>

namespace hearth {

/**
 * Parts of recurrent layers that one thread computes, for consecutive tokens of one text. Each token is computed alone,
 * from the state that the one before it leaves, so that results don't depend on how tokens are divided into passes.
 */

/** A run of channels of a causal convolution (engine/kernels/operation.ts, ConvolveOperation). */
struct ConvolvedChannels {
  /** Inputs, from the run's first channel on; tokens lie `channels` floats apart, in y and in the state too. */
  const float* x;
  std::size_t channels;
  std::size_t tokens;
  /** [count][width] */
  const float* weight;
  std::size_t width;
  /** [count]; null: none. */
  const float* bias;
  /** [width − 1][count] */
  float* state;
  float* y;
  std::size_t count;
  /** Whether y = silu(sum), or the sum. */
  bool silu;
  /** width·count floats, aligned to 64. */
  float* scratch;

  /** Inputs in order: those of the state, then those of the tokens. */
  [[nodiscard]] const float* input(std::size_t place) const {
    const std::size_t before = width - 1;
    return place < before ? state + place * channels : x + (place - before) * channels;
  }
};

/** A vector of each token, `stride` floats apart. */
struct TokenVectors {
  const float* first;
  std::size_t stride;

  [[nodiscard]] const float* of(std::size_t token) const { return first + token * stride; }
};

/** Columns of a delta rule's state that are computed together: those of all rows stay in the first-level cache. */
inline constexpr std::size_t deltaColumns = 64;

/** A run of columns of the state of a value head (engine/kernels/operation.ts, DeltaRuleOperation). */
struct DeltaColumns {
  /** [size] */
  TokenVectors query;
  TokenVectors key;
  /** [count] */
  TokenVectors value;
  /** One number each. */
  TokenVectors strength;
  TokenVectors decay;
  float decayBias;
  float rate;
  float epsilon;
  /** [size][count], rows `size` floats apart. */
  float* state;
  /** [tokens][count], tokens `yStride` floats apart. */
  float* y;
  std::size_t yStride;
  std::size_t size;
  std::size_t count;
  std::size_t tokens;
  /** size·deltaColumns floats, aligned to 64. */
  float* scratch;
};

/** A run of rows of the state of a head (engine/kernels/operation.ts, SelectiveScanOperation). */
struct ScannedRows {
  /** [count] */
  TokenVectors value;
  /** [stateSize] */
  TokenVectors b;
  TokenVectors c;
  /** One number. */
  TokenVectors step;
  float stepBias;
  float rate;
  float skip;
  /** [count][stateSize] */
  float* state;
  /** [tokens][count], tokens `yStride` floats apart. */
  float* y;
  std::size_t yStride;
  std::size_t stateSize;
  std::size_t count;
  std::size_t tokens;
};

}  // namespace hearth
