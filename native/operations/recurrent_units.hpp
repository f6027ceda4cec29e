#pragma once
#include <algorithm>

#include "product_units.hpp"

/** Units of recurrent layers: which channels, columns or rows they are of, for all tokens one after another. */
namespace hearth {

/** Least number of channels of a unit: enough of them lie side by side. */
inline constexpr std::size_t leastChannels = 128;

inline std::size_t rowsOfY(const CopyColumnsOperation& o) { return (o.y.size() - o.columns) / o.yStride + 1; }
/** Rows of y of a unit. */
inline std::size_t unitRows(const CopyColumnsOperation& o) {
  return std::max<std::size_t>(1, unitElements / o.columns);
}
inline std::size_t recurrentUnits(const CopyColumnsOperation& o) { return ceilDivide(rowsOfY(o), unitRows(o)); }

inline std::size_t channelsOf(const ConvolveOperation& o) { return o.weight.size() / o.width; }
inline std::size_t unitChannels(const ConvolveOperation& o) {
  const std::size_t products = o.x.size() / channelsOf(o) * o.width;
  return std::min(channelsOf(o), std::max(leastChannels, unitElements / products));
}
inline std::size_t recurrentUnits(const ConvolveOperation& o) { return ceilDivide(channelsOf(o), unitChannels(o)); }
inline std::size_t recurrentScratchBytes(const ConvolveOperation& o) {
  return unitChannels(o) * o.width * sizeof(float);
}

/** Runs of columns of a head. */
inline std::size_t runsOfHead(const DeltaRuleOperation& o) { return ceilDivide(o.size, deltaColumns); }
inline std::size_t recurrentUnits(const DeltaRuleOperation& o) { return o.valueHeads * runsOfHead(o); }
inline std::size_t recurrentScratchBytes(const DeltaRuleOperation& o) { return o.size * deltaColumns * sizeof(float); }

/** Rows of the state of a unit, and runs of them of a head. */
inline std::size_t unitRows(const SelectiveScanOperation& o) {
  return std::min(o.headSize, std::max<std::size_t>(1, unitElements / o.stateSize));
}
inline std::size_t runsOfHead(const SelectiveScanOperation& o) { return ceilDivide(o.headSize, unitRows(o)); }
inline std::size_t recurrentUnits(const SelectiveScanOperation& o) { return o.heads * runsOfHead(o); }

inline void performRecurrent(const CopyColumnsOperation& o, std::size_t unit) {
  const std::size_t begin = unit * unitRows(o);
  const std::size_t end = std::min(begin + unitRows(o), rowsOfY(o));
  for (std::size_t row = begin; row < end; row++) {
    std::copy_n(o.x.data() + row / o.repeats * o.xStride, o.columns, o.y.data() + row * o.yStride);
  }
}

inline void performRecurrent(const KernelTable& table, const ConvolveOperation& o, std::size_t unit,
                             ThreadScratch& scratch) {
  scratch.source = 0;
  const std::size_t channels = channelsOf(o);
  const std::size_t begin = unit * unitChannels(o);
  table.convolve({o.x.data() + begin, channels, o.x.size() / channels, o.weight.data() + begin * o.width, o.width,
                  o.bias.empty() ? nullptr : o.bias.data() + begin, o.state.data() + begin, o.y.data() + begin,
                  std::min(unitChannels(o), channels - begin), o.silu, reinterpret_cast<float*>(scratch.bytes)});
}

inline void performRecurrent(const KernelTable& table, const DeltaRuleOperation& o, std::size_t unit,
                             ThreadScratch& scratch) {
  scratch.source = 0;
  const std::size_t head = unit / runsOfHead(o);
  const std::size_t column = unit % runsOfHead(o) * deltaColumns;
  const std::size_t keyHead = o.apart ? head % o.keyHeads : head * o.keyHeads / o.valueHeads;
  const std::size_t stride = (2 * o.keyHeads + o.valueHeads) * o.size;
  const auto part = [&o, stride](std::size_t place) { return TokenVectors{o.x.data() + place * o.size, stride}; };
  const TokenVectors values = part(2 * o.keyHeads + head);
  table.updateDelta({part(keyHead),
                     part(o.keyHeads + keyHead),
                     {values.first + column, stride},
                     {o.strength.data() + head, o.valueHeads},
                     {o.decay.data() + head, o.valueHeads},
                     o.decayBias[head],
                     o.rate[head],
                     o.epsilon,
                     o.state.data() + head * o.size * o.size + column,
                     o.y.data() + head * o.size + column,
                     o.valueHeads * o.size,
                     o.size,
                     std::min(deltaColumns, o.size - column),
                     o.strength.size() / o.valueHeads,
                     reinterpret_cast<float*>(scratch.bytes)});
}

inline void performRecurrent(const KernelTable& table, const SelectiveScanOperation& o, std::size_t unit) {
  const std::size_t head = unit / runsOfHead(o);
  const std::size_t row = unit % runsOfHead(o) * unitRows(o);
  const std::size_t group = head * o.groups / o.heads;
  const std::size_t inner = o.heads * o.headSize;
  const std::size_t stride = inner + 2 * o.groups * o.stateSize;
  const std::size_t at = head * o.headSize + row;
  const float* b = o.x.data() + inner + group * o.stateSize;
  table.scanState({{o.x.data() + at, stride},
                   {b, stride},
                   {b + o.groups * o.stateSize, stride},
                   {o.step.data() + head, o.heads},
                   o.stepBias[head],
                   o.rate[head],
                   o.skip[head],
                   o.state.data() + at * o.stateSize,
                   o.y.data() + at,
                   inner,
                   o.stateSize,
                   std::min(unitRows(o), o.headSize - row),
                   o.step.size() / o.heads});
}

}  // namespace hearth
