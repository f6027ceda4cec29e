#pragma once
#include "activations.hpp"
#include "attention.hpp"
#include "limits.hpp"
#include "matmul_float.hpp"
#include "dot_float.hpp"
#include "dot_quantized.hpp"
#include "recurrence.hpp"
#include "store_tokens.hpp"

/**
 * Fills a table with the shared kernels over the primitives S; an instruction set then replaces those that it improves.
 */
namespace hearth {
namespace {

template <bool Corrections>
void activateToken(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  if (isFloat(type)) {
    __builtin_memcpy(out, x, columns * sizeof(float));
  } else {
    quantizeActivations<Corrections>(type, rounding, x, columns, out);
  }
}

inline std::size_t activationBytes(Type type, std::size_t columns) {
  return isFloat(type) ? roundUp64(columns * sizeof(float)) : quantizedActivationBytes(columns);
}

/** Token after token, while the rows are in the cache. */
template <auto Matvec>
void oneByOne(const Matvecs& p) {
  for (std::size_t t = 0; t < p.tokens; t++) {
    Matvec(p.rows, p.activations + t * p.activationBytes, p.out + t * p.outStride);
  }
}

/** Products of a format; of a quantized one only if the table wants the shared ones. */
template <class S, Type T, bool Quantized>
void setFormat(KernelTable& table) {
  constexpr auto i = static_cast<std::size_t>(T);
  table.dequantize[i] = dequantizeRow<S, T>;
  if constexpr (isFloat(T)) {
    table.fewTokens[i] = {matvecFloat<S, T>, matvecsFloat<S, T>};
    table.fewTokens[i].most = S::mostFloatTokens;
  } else if constexpr (Quantized) {
    table.fewTokens[i] = {matvecQuantized<S, T>, oneByOne<matvecQuantized<S, T>>};
  }
  if constexpr (isFloat(T) || Quantized) {
    table.manyTokens[i] = {floatPackBytes<S>, packFloats<S>, floatScratchBytes<S>, matmulFloat<S, T>};
  }
}

/** @tparam Quantized whether quantized rows are multiplied by the shared kernels; the instruction set has its own otherwise */
template <class S, bool Corrections, bool Quantized = true>
KernelTable makeTable(const char* name) {
  KernelTable table{};
  table.name = name;
  table.activationBytes = activationBytes;
  table.activate = activateToken<Corrections>;
  table.tokenLanes = S::width;
  table.tileRows = S::tileRows;
  forEachType([&table]<Type T>() { setFormat<S, T, Quantized>(table); });
  table.rmsNorm = rmsNormRow<S>;
  table.gates[static_cast<std::size_t>(Activation::silu)] = siluRow<S>;
  table.gates[static_cast<std::size_t>(Activation::gelu)] = geluRow<S>;
  table.gates[static_cast<std::size_t>(Activation::clampedSilu)] = clampedSiluRow<S>;
  table.gates[static_cast<std::size_t>(Activation::sigmoid)] = sigmoidRow<S>;
  table.gates[static_cast<std::size_t>(Activation::relu)] = reluRow<S>;
  table.gates[static_cast<std::size_t>(Activation::identity)] = identityRow<S>;
  table.softmax = softmaxRow<S>;
  table.add = addRow<S>;
  table.scale = scaleRow<S>;
  table.softCap = softCapRow<S>;
  table.store = storeToken<S>;
  table.attention = {queryRows, attentionScratch, attendHeads<S>, attendPage<S>};
  table.divideRows = divideRows<S>;
  table.convolve = convolveChannels<S>;
  table.updateDelta = updateDelta<S>;
  table.scanState = scanState<S>;
  table.readLines = readLines;
  table.multiplyAdds = multiplyAdds<S>;
  table.byteDots = byteDots<S>;
  return table;
}

}  // namespace
}  // namespace hearth
