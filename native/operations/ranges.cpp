#include "perform.hpp"

namespace hearth {
namespace {

Range bytesOf(std::span<const float> values) { return std::as_bytes(values); }

Range bytesOf(const std::uint8_t* at, const CacheView& cache) {
  return std::as_bytes(std::span(at, cache.bytes()));
}

struct Reads {
  std::vector<Range>& ranges;
  void operator()(const EmbedOperation&) const {}
  void operator()(const RmsNormOperation& o) const { add(o.x, o.weight); }
  void operator()(const MatvecOperation& o) const { add(o.x, o.bias); }
  void operator()(const ActivateOperation& o) const { add(o.x); }
  void operator()(const PackOperation& o) const { add(o.x); }
  void operator()(const MatmulOperation& o) const {
    add(o.x, o.bias);
    ranges.push_back(o.packs);
  }
  void operator()(const RopeOperation& o) const { add(o.angles); }
  void operator()(const StoreOperation& o) const { add(o.keys, o.values); }
  void operator()(const AttentionOperation& o) const {
    add(o.queries, o.sinks);
    ranges.push_back(bytesOf(o.cache.keys, o.cache));
    ranges.push_back(bytesOf(o.cache.values, o.cache));
  }
  void operator()(const AttendPagesOperation& o) const {
    add(o.queries, o.sinks);
    for (const CachePage& page : o.pages) {
      ranges.push_back(bytesOf(page.cache.keys, page.cache));
      ranges.push_back(bytesOf(page.cache.values, page.cache));
    }
  }
  void operator()(const DivideRowsOperation& o) const { add(o.divisors); }
  void operator()(const GateOperation& o) const { add(o.gate, o.up); }
  void operator()(const SoftmaxOperation& o) const { add(o.x); }
  void operator()(const AddOperation& o) const { add(o.x); }
  void operator()(const ScaleOperation&) const {}
  void operator()(const SoftCapOperation&) const {}
  void operator()(const TopKOperation& o) const { add(o.x); }
  void operator()(const RouteOperation& o) const { add(o.x, o.bias, o.scales); }
  void operator()(const MatvecExpertsOperation& o) const { add(o.routes, o.x, o.bias); }
  void operator()(const GroupChoicesOperation& o) const { add(o.routes); }
  void operator()(const ActivateExpertsOperation& o) const {
    add(o.x);
    ranges.push_back(std::as_bytes(o.groups.numbers));
  }
  void operator()(const PackExpertsOperation& o) const {
    add(o.x);
    ranges.push_back(std::as_bytes(o.groups.numbers));
  }
  void operator()(const MatmulExpertsOperation& o) const {
    add(o.bias);
    ranges.push_back(std::as_bytes(o.groups.numbers));
    ranges.push_back(o.packs);
  }
  void operator()(const CombineExpertsOperation& o) const { add(o.x, o.routes); }
  void operator()(const ScaleExpertsOperation& o) const { add(o.routes, o.scales, o.bias); }
  void operator()(const GateRowsOperation& o) const { add(o.gate); }
  void operator()(const CopyColumnsOperation& o) const { add(o.x); }
  void operator()(const ConvolveOperation& o) const { add(o.x, o.weight, o.bias); }
  void operator()(const DeltaRuleOperation& o) const { add(o.x, o.strength, o.decay, o.decayBias, o.rate); }
  void operator()(const SelectiveScanOperation& o) const { add(o.x, o.step, o.stepBias, o.rate, o.skip); }

  void add(auto... spans) const { (ranges.push_back(bytesOf(spans)), ...); }
};

struct Writes {
  std::vector<Range>& ranges;
  void operator()(const ActivateOperation& o) const { ranges.push_back(o.activations); }
  void operator()(const PackOperation& o) const { ranges.push_back(o.packs); }
  void operator()(const GroupChoicesOperation& o) const { ranges.push_back(std::as_bytes(o.groups.numbers)); }
  void operator()(const ActivateExpertsOperation& o) const { ranges.push_back(o.activations); }
  void operator()(const PackExpertsOperation& o) const { ranges.push_back(o.packs); }
  void operator()(const RopeOperation& o) const { add(o.x); }
  void operator()(const StoreOperation& o) const {
    ranges.push_back(bytesOf(o.cache.keys, o.cache));
    ranges.push_back(bytesOf(o.cache.values, o.cache));
  }
  void operator()(const AttendPagesOperation& o) const { add(o.sums, o.largest, o.totals); }
  void operator()(const ConvolveOperation& o) const { add(o.state, o.y); }
  void operator()(const DeltaRuleOperation& o) const { add(o.state, o.y); }
  void operator()(const SelectiveScanOperation& o) const { add(o.state, o.y); }
  void operator()(const auto& o) const { add(o.y); }

  void add(auto... spans) const { (ranges.push_back(bytesOf(spans)), ...); }
};

}  // namespace

void appendReads(const Operation& operation, std::vector<Range>& ranges) { std::visit(Reads{ranges}, operation); }
void appendWrites(const Operation& operation, std::vector<Range>& ranges) { std::visit(Writes{ranges}, operation); }

}  // namespace hearth
