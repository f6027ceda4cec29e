#include "perform.hpp"

#include <algorithm>
#include <cmath>

#include "attended_units.hpp"
#include "expert_products.hpp"
#include "recurrent_units.hpp"
#include "route.hpp"
#include "top_k.hpp"

namespace hearth {
namespace {

constexpr std::size_t index(Type type) { return static_cast<std::size_t>(type); }

/** Rows of a unit of an operation that scales rows. */
std::size_t unitRows(std::span<const float> factors, std::span<const float> y) {
  return std::max<std::size_t>(1, unitElements / (y.size() / factors.size()));
}

std::size_t unitRows(const RmsNormOperation& o) { return std::max<std::size_t>(1, unitElements / o.width); }

/** Columns of a unit of a combination, which is of one token: as many products as an elementwise operation has elements. */
std::size_t unitColumns(const CombineExpertsOperation& o) { return std::max<std::size_t>(64, unitElements / o.used); }
std::size_t routedTokens(const CombineExpertsOperation& o) { return o.routes.size() / 2 / o.used; }
std::size_t runsOfToken(const CombineExpertsOperation& o) {
  return ceilDivide(o.y.size() / routedTokens(o), unitColumns(o));
}

struct Units {
  const KernelTable& table;
  std::size_t operator()(const EmbedOperation& o) const { return o.tokens.size(); }
  std::size_t operator()(const RmsNormOperation& o) const {
    return ceilDivide(o.x.size(), unitRows(o) * o.width);
  }
  std::size_t operator()(const MatvecOperation& o) const { return ceilDivide(o.matrix.rows, o.unitRows); }
  std::size_t operator()(const ActivateOperation& o) const { return o.x.size() / o.columns; }
  std::size_t operator()(const PackOperation& o) const {
    return ceilDivide(o.x.size() / o.columns, table.tokenLanes);
  }
  std::size_t operator()(const MatmulOperation& o) const { return ceilDivide(o.matrix.rows, o.unitRows); }
  std::size_t operator()(const RopeOperation& o) const { return o.x.size() / (o.heads * o.headSize); }
  std::size_t operator()(const StoreOperation& o) const {
    return o.keys.size() / (o.cache.kvHeads * o.cache.headSize);
  }
  std::size_t operator()(const AttentionOperation& o) const {
    return attentionUnits(attentionOf(table, o.rounding), o);
  }
  std::size_t operator()(const AttendPagesOperation& o) const {
    return attentionUnits(attentionOf(table, o.rounding), o);
  }
  std::size_t operator()(const DivideRowsOperation& o) const {
    return ceilDivide(o.divisors.size(), unitRows(o.divisors, o.y));
  }
  std::size_t operator()(const GateOperation& o) const { return ceilDivide(o.y.size(), unitElements); }
  std::size_t operator()(const SoftmaxOperation& o) const { return o.x.size() / o.width; }
  std::size_t operator()(const AddOperation& o) const { return ceilDivide(o.y.size(), unitElements); }
  std::size_t operator()(const ScaleOperation& o) const { return ceilDivide(o.y.size(), unitElements); }
  std::size_t operator()(const SoftCapOperation& o) const { return ceilDivide(o.y.size(), unitElements); }
  std::size_t operator()(const TopKOperation& o) const { return o.x.size() / o.width; }
  std::size_t operator()(const RouteOperation& o) const { return o.x.size() / o.router.experts; }
  std::size_t operator()(const MatvecExpertsOperation& o) const { return unitsOfExperts(o); }
  std::size_t operator()(const GroupChoicesOperation&) const { return 1; }
  std::size_t operator()(const ActivateExpertsOperation& o) const { return o.groups.count(); }
  std::size_t operator()(const PackExpertsOperation& o) const {
    return o.packs.size() / manyTokensOf(table, o.type, o.rounding).packBytes(o.columns);
  }
  std::size_t operator()(const MatmulExpertsOperation& o) const { return unitsOfExperts(o); }
  std::size_t operator()(const CombineExpertsOperation& o) const { return routedTokens(o) * runsOfToken(o); }
  std::size_t operator()(const ScaleExpertsOperation& o) const { return o.routes.size() / 2; }
  std::size_t operator()(const GateRowsOperation& o) const { return ceilDivide(o.gate.size(), unitRows(o.gate, o.y)); }
  std::size_t operator()(const CopyColumnsOperation& o) const { return recurrentUnits(o); }
  std::size_t operator()(const ConvolveOperation& o) const { return recurrentUnits(o); }
  std::size_t operator()(const DeltaRuleOperation& o) const { return recurrentUnits(o); }
  std::size_t operator()(const SelectiveScanOperation& o) const { return recurrentUnits(o); }
};

struct ScratchBytes {
  const KernelTable& table;
  std::size_t operator()(const MatvecOperation& o) const {
    const std::size_t sums = o.unitRows * sizeof(float);
    return table.activationBytes(o.matrix.type, o.matrix.columns) + sums;
  }
  std::size_t operator()(const MatmulOperation& o) const {
    const std::size_t sums = roundUp64(o.tokens * o.unitRows * sizeof(float));
    if (o.singly) return sums;
    const ManyTokens& many = manyTokensOf(table, o.matrix.type, o.rounding);
    return sums + many.scratchBytes(o.unitRows, o.matrix.columns, o.tokens);
  }
  std::size_t operator()(const AttentionOperation& o) const {
    return attentionFloats(attentionOf(table, o.rounding), o) * sizeof(float);
  }
  std::size_t operator()(const AttendPagesOperation& o) const {
    return attentionFloats(attentionOf(table, o.rounding), o) * sizeof(float);
  }
  std::size_t operator()(const RouteOperation& o) const { return RouteScratch::bytes(o.router); }
  std::size_t operator()(const MatvecExpertsOperation& o) const { return scratchBytesOfExperts(table, o); }
  std::size_t operator()(const PackExpertsOperation& o) const {
    return table.tokenLanes * o.columns * sizeof(float);
  }
  std::size_t operator()(const MatmulExpertsOperation& o) const { return scratchBytesOfExperts(table, o); }
  std::size_t operator()(const ConvolveOperation& o) const { return recurrentScratchBytes(o); }
  std::size_t operator()(const DeltaRuleOperation& o) const { return recurrentScratchBytes(o); }
  std::size_t operator()(const auto&) const { return 0; }
};

Rows unpackedRowsOf(const FewTokens& few, const MatvecOperation& o, std::size_t begin, std::size_t count) {
  const std::byte* data = o.unpacked.data() + few.unpackedBytes(begin, o.matrix.columns);
  return {reinterpret_cast<const std::uint8_t*>(data), count, o.matrix.columns};
}

struct Perform {
  const KernelTable& table;
  std::size_t unit;
  ThreadScratch& scratch;

  /** The first element of the unit of an elementwise operation, and their number. */
  struct Elements {
    std::size_t begin;
    std::size_t count;
  };
  Elements elementsOf(std::span<const float> y) const {
    const std::size_t begin = unit * unitElements;
    return {begin, std::min(unitElements, y.size() - begin)};
  }

  void operator()(const EmbedOperation& o) const {
    const std::size_t stride = rowBytes(o.table.type, o.table.columns);
    table.dequantize[index(o.table.type)](o.table.data + o.tokens[unit] * stride, o.table.columns,
                                          o.y.data() + unit * o.table.columns);
  }

  void operator()(const RmsNormOperation& o) const {
    const std::size_t step = unitRows(o) * o.width;
    const std::size_t end = std::min(o.x.size(), (unit + 1) * step);
    for (std::size_t i = unit * step; i < end; i += o.width) {
      table.rmsNorm(o.x.data() + i, o.weight.data() + i % o.weight.size(), o.width, o.epsilon, o.y.data() + i);
    }
  }

  void operator()(const MatvecOperation& o) const {
    const std::size_t begin = unit * o.unitRows;
    const std::size_t count = std::min(o.unitRows, o.matrix.rows - begin);
    const std::byte* activations = activationsOf(table, o.matrix, o.rounding, o.x.data(), o.source, scratch);
    const std::size_t bytes = table.activationBytes(o.matrix.type, o.matrix.columns);
    const FewTokens& few = fewTokensOf(table, o.matrix.type, o.rounding);
    const bool isUnpacked = !o.unpacked.empty();
    const Rows rows = isUnpacked ? unpackedRowsOf(few, o, begin, count) : rowsOf(o.matrix, begin, count);
    const auto matvec = isUnpacked ? few.matvecUnpacked : few.matvec;
    if (o.bias.empty() && !o.accumulate) {
      matvec(rows, activations, o.y.data() + begin);
      return;
    }
    auto* sums = reinterpret_cast<float*>(scratch.bytes + bytes);
    matvec(rows, activations, sums);
    finishRows(table, sums, begin, count, o.bias, o.accumulate, o.y.data() + begin);
  }

  void operator()(const ActivateOperation& o) const {
    const std::size_t bytes = table.activationBytes(o.type, o.columns);
    table.activate(o.type, o.rounding, o.x.data() + unit * o.columns, o.columns, o.activations.data() + unit * bytes);
  }

  void operator()(const PackOperation& o) const {
    const ManyTokens& many = manyTokensOf(table, o.type, o.rounding);
    const std::size_t begin = unit * table.tokenLanes;
    const std::size_t tokens = std::min(table.tokenLanes, o.x.size() / o.columns - begin);
    many.pack(o.x.data() + begin * o.columns, tokens, o.columns,
              o.packs.data() + unit * many.packBytes(o.columns));
  }

  void operator()(const MatmulOperation& o) const {
    scratch.source = 0;
    const std::size_t begin = unit * o.unitRows;
    const std::size_t count = std::min(o.unitRows, o.matrix.rows - begin);
    const Rows rows = rowsOf(o.matrix, begin, count);
    // Straight to y if nothing is added.
    const bool direct = o.bias.empty() && !o.accumulate;
    auto* sums = reinterpret_cast<float*>(scratch.bytes);
    std::byte* rest = scratch.bytes + roundUp64(o.tokens * o.unitRows * sizeof(float));
    float* out = direct ? o.y.data() + begin : sums;
    const std::size_t stride = direct ? o.matrix.rows : count;
    if (o.singly) {
      const std::size_t bytes = table.activationBytes(o.matrix.type, o.matrix.columns);
      const auto matvecs = fewTokensOf(table, o.matrix.type, o.rounding).matvecs;
      matvecs({rows, o.packs.data(), bytes, o.tokens, out, stride});
    } else {
      manyTokensOf(table, o.matrix.type, o.rounding).multiply({rows, o.packs.data(), o.tokens, out, stride, rest});
    }
    for (std::size_t t = 0; !direct && t < o.tokens; t++) {
      finishRows(table, sums + t * count, begin, count, o.bias, o.accumulate, o.y.data() + t * o.matrix.rows + begin);
    }
  }

  void operator()(const RopeOperation& o) const {
    const float* angles = o.angles.data() + unit * o.dimensions;
    const std::size_t pairs = o.dimensions / 2;
    for (std::size_t head = 0; head < o.heads; head++) {
      float* x = o.x.data() + (unit * o.heads + head) * o.headSize;
      for (std::size_t i = 0; i < pairs; i++) {
        float& a = x[o.halves ? i : 2 * i];
        float& b = x[o.halves ? i + pairs : 2 * i + 1];
        const float cosine = angles[2 * i];
        const float sine = angles[2 * i + 1];
        const float rotated = a * cosine - b * sine;
        b = a * sine + b * cosine;
        a = rotated;
      }
    }
  }

  void operator()(const StoreOperation& o) const {
    const std::size_t from = unit * o.cache.kvHeads * o.cache.headSize;
    table.store(o.cache, o.position + unit, o.keys.data() + from, o.values.data() + from);
  }

  /** The rows of a unit side by side, behind the memory of the kernel. */
  struct UnitRows {
    float* queries;
    float* largest;
    float* totals;
    float* sums;
  };
  /** The memory of the kernel. */
  [[nodiscard]] float* memory() const { return reinterpret_cast<float*>(scratch.bytes); }
  UnitRows unitRowsOf(const Attention& attention, const AttendedUnit& own) const {
    const std::size_t floats = attention.scratchFloats(own.tokens, own.group, own.headSize);
    float* rows = memory() + floats;
    float* sums = rows + own.rows() * own.headSize;
    float* largest = sums + own.rows() * own.headSize;
    return {rows, largest, largest + own.rows(), sums};
  }

  void operator()(const AttentionOperation& o) const {
    scratch.source = 0;
    const Attention& attention = attentionOf(table, o.rounding);
    const AttendedUnit own = attendedUnit(attention, o, unit);
    const UnitRows rows = unitRowsOf(attention, own);
    gather(own, o.queries.data(), own.headSize, rows.queries);
    const std::size_t end = o.position + tokensOf(o);
    const auto length = static_cast<std::ptrdiff_t>(o.position + own.token + 1);
    const HeadGroup group = {o.cache,    own.kvHead, end,     length,          o.window, rows.queries,
                             own.tokens, own.group,  o.scale, sinksOf(o, own), memory()};
    attention.heads(group, rows.sums);
    scatter(own, rows.sums, own.headSize, o.y.data());
  }

  void operator()(const AttendPagesOperation& o) const {
    scratch.source = 0;
    const Attention& attention = attentionOf(table, o.rounding);
    const AttendedUnit own = attendedUnit(attention, o, unit);
    const auto [queries, largest, totals, sums] = unitRowsOf(attention, own);
    gather(own, o.queries.data(), own.headSize, queries);
    bool begins = o.begins;
    if (!begins) {
      gather(own, o.largest.data(), 1, largest);
      gather(own, o.totals.data(), 1, totals);
      gather(own, o.sums.data(), own.headSize, sums);
    }
    for (const CachePage& page : o.pages) {
      const auto length = static_cast<std::ptrdiff_t>(o.position + own.token + 1) - static_cast<std::ptrdiff_t>(page.first);
      const HeadGroup group = {page.cache, own.kvHead, page.count, length,          o.window, queries,
                               own.tokens, own.group,  o.scale,    sinksOf(o, own), memory()};
      attention.page(group, {largest, totals, sums}, begins);
      begins = false;
    }
    scatter(own, largest, 1, o.largest.data());
    scatter(own, totals, 1, o.totals.data());
    scatter(own, sums, own.headSize, o.sums.data());
  }

  void operator()(const DivideRowsOperation& o) const {
    const std::size_t width = o.y.size() / o.divisors.size();
    const std::size_t rows = unitRows(o.divisors, o.y);
    const std::size_t begin = unit * rows;
    table.divideRows(o.divisors.data() + begin, std::min(rows, o.divisors.size() - begin), width,
                     o.y.data() + begin * width);
  }

  void operator()(const GateOperation& o) const {
    const auto [begin, count] = elementsOf(o.y);
    const auto gate = table.gates[static_cast<std::size_t>(o.activation)];
    gate(o.gate.data() + begin, o.up.data() + begin, count, o.y.data() + begin);
  }

  void operator()(const SoftmaxOperation& o) const {
    table.softmax(o.x.data() + unit * o.width, o.width, o.y.data() + unit * o.width);
  }

  void operator()(const AddOperation& o) const {
    const auto [begin, count] = elementsOf(o.y);
    table.add(o.x.data() + begin, o.factor, count, o.y.data() + begin);
  }

  void operator()(const ScaleOperation& o) const {
    const auto [begin, count] = elementsOf(o.y);
    table.scale(o.factor, count, o.y.data() + begin);
  }

  void operator()(const SoftCapOperation& o) const {
    const auto [begin, count] = elementsOf(o.y);
    table.softCap(o.cap, count, o.y.data() + begin);
  }

  void operator()(const TopKOperation& o) const {
    const std::size_t numbers = o.y.size() / (o.x.size() / o.width);
    topK(o.x.subspan(unit * o.width, o.width), o.y.subspan(unit * numbers, numbers));
  }

  void operator()(const RouteOperation& o) const {
    scratch.source = 0;
    const auto& [x, bias, scales, y, router] = o;
    const float* logits = x.data() + unit * router.experts;
    routeToken(router, logits, bias, scales, scratch.bytes, y.data() + unit * 2 * router.used);
  }

  void operator()(const GroupChoicesOperation& o) const { groupChoices(o.routes, table.tokenLanes, o.groups); }
  void operator()(const MatvecExpertsOperation& o) const { performExperts(table, o, unit, scratch); }
  void operator()(const ActivateExpertsOperation& o) const { performExperts(table, o, unit); }
  void operator()(const PackExpertsOperation& o) const { performExperts(table, o, unit, scratch); }
  void operator()(const MatmulExpertsOperation& o) const { performExperts(table, o, unit, scratch); }

  void operator()(const CombineExpertsOperation& o) const {
    const std::size_t width = o.y.size() / routedTokens(o);
    const std::size_t token = unit / runsOfToken(o);
    const std::size_t begin = unit % runsOfToken(o) * unitColumns(o);
    const std::size_t count = std::min(unitColumns(o), width - begin);
    float* y = o.y.data() + token * width + begin;
    if (!o.accumulate) std::fill_n(y, count, 0.0F);
    for (std::size_t choice = token * o.used; choice < (token + 1) * o.used; choice++) {
      table.add(o.x.data() + choice * width + begin, o.routes[2 * choice + 1], count, y);
    }
  }

  void operator()(const ScaleExpertsOperation& o) const {
    const std::size_t rows = o.y.size() / (o.routes.size() / 2);
    const std::size_t expert = expertOf(o.routes, unit, o.scales.size());
    float* y = o.y.data() + unit * rows;
    table.scale(o.scales[expert], rows, y);
    if (!o.bias.empty()) table.add(o.bias.data() + expert * rows, 1, rows, y);
  }

  void operator()(const GateRowsOperation& o) const {
    const std::size_t width = o.y.size() / o.gate.size();
    const std::size_t begin = unit * unitRows(o.gate, o.y);
    const std::size_t end = std::min(begin + unitRows(o.gate, o.y), o.gate.size());
    for (std::size_t row = begin; row < end; row++) {
      table.scale(1 / (1 + std::exp(-o.gate[row])), width, o.y.data() + row * width);
    }
  }

  void operator()(const CopyColumnsOperation& o) const { performRecurrent(o, unit); }
  void operator()(const ConvolveOperation& o) const { performRecurrent(table, o, unit, scratch); }
  void operator()(const DeltaRuleOperation& o) const { performRecurrent(table, o, unit, scratch); }
  void operator()(const SelectiveScanOperation& o) const { performRecurrent(table, o, unit); }
};

}  // namespace

std::size_t unitsOf(const Operation& operation, const KernelTable& table) {
  return std::visit(Units{table}, operation);
}

std::size_t scratchBytesOf(const Operation& operation, const KernelTable& table) {
  return std::visit(ScratchBytes{table}, operation);
}

void performUnit(const Operation& operation, const KernelTable& table, std::size_t unit,
                 ThreadScratch& scratch) noexcept {
  std::visit(Perform{table, unit, scratch}, operation);
}

}  // namespace hearth
