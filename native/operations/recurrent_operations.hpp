#pragma once
#include <cstddef>
#include <span>

namespace hearth {

/** Operations of recurrent layers, over consecutive tokens of one text (engine/kernels/operation.ts). */

/** Copies some columns of rows to columns of other rows, of which one or several have the same source. */
struct CopyColumnsOperation {
  /** From the first column of the first row to the last one of the last row. */
  std::span<const float> x;
  std::span<float> y;
  /** Floats from one row to the next. */
  std::size_t xStride;
  std::size_t yStride;
  std::size_t columns;
  /** Rows of y for each row of x. */
  std::size_t repeats;
};

/** y = activation(bias + Σ weight·input), for every channel and the inputs of the last `width` tokens. */
struct ConvolveOperation {
  /** [tokens][channels] */
  std::span<const float> x;
  /** [channels][width] */
  std::span<const float> weight;
  std::size_t width;
  /** [channels]; empty: none. */
  std::span<const float> bias;
  /** [width − 1][channels] */
  std::span<float> state;
  std::span<float> y;
  bool silu;
};

/** The gated delta rule. */
struct DeltaRuleOperation {
  /** [tokens][queries of keyHeads, keys of keyHeads, values of valueHeads][size] */
  std::span<const float> x;
  /** [tokens][valueHeads] */
  std::span<const float> strength;
  std::span<const float> decay;
  /** [valueHeads] */
  std::span<const float> decayBias;
  std::span<const float> rate;
  /** [valueHeads][size][size] */
  std::span<float> state;
  /** [tokens][valueHeads][size] */
  std::span<float> y;
  std::size_t keyHeads;
  std::size_t valueHeads;
  std::size_t size;
  /** Whether value heads that share a key head are `keyHeads` apart, or neighbours. */
  bool apart;
  float epsilon;
};

/** A selective state space. */
struct SelectiveScanOperation {
  /** [tokens][values of heads·headSize, B of groups·stateSize, C of groups·stateSize] */
  std::span<const float> x;
  /** [tokens][heads] */
  std::span<const float> step;
  /** [heads] */
  std::span<const float> stepBias;
  std::span<const float> rate;
  std::span<const float> skip;
  /** [heads][headSize][stateSize] */
  std::span<float> state;
  /** [tokens][heads][headSize] */
  std::span<float> y;
  std::size_t heads;
  std::size_t headSize;
  std::size_t groups;
  std::size_t stateSize;
};

}  // namespace hearth
