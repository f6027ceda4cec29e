#include "program.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "perform.hpp"
#include "read_bytes.hpp"

namespace hearth {
namespace {

/** Weights of a unit of a matrix–vector product: enough to be read at full speed, small enough to share out evenly. */
constexpr std::size_t unitBytes = 256 << 10;
/**
 * Rows of such a unit are a multiple of this, which is a multiple of the rows that any kernel multiplies side by side.
 */
constexpr std::size_t rowsSideBySide = 8;
/** Unpacked weights of a unit of a matrix product: a part of the second-level cache. */
constexpr std::size_t unitWeights = 256 << 10;
/** Bytes that a program's tokens read of weights and caches up to which one thread is faster alone: its second-level cache. */
constexpr std::size_t smallBytes = 4 * unitBytes;
/** Least number of tokens that attend together; fewer attend as one does. */
constexpr std::size_t attendTogether = 8;

/**
 * Packs that experts have on average, if they are all chosen alike, from which on choices are packed. With 768 rows of 2048
 * columns and four choices an expert packing takes 2 to 10 times as long as without (AVX2, AVX-512; Zen 5), as most lanes
 * are empty and weights are unpacked for few; with two packs about as long.
 */
constexpr std::size_t packsOfExpert = 2;

constexpr std::size_t roundUp(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

bool overlap(Range a, Range b) {
  const std::less<> less;
  return !a.empty() && !b.empty() && less(a.data(), b.data() + b.size()) && less(b.data(), a.data() + a.size());
}

bool anyOverlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::any_of(a.begin(), a.end(), [&b](Range range) {
    return std::any_of(b.begin(), b.end(), [range](Range other) { return overlap(range, other); });
  });
}

/** Rows of a unit: `wanted` if that leaves each of several threads several units, fewer otherwise; a multiple of `step`. */
std::size_t shareRows(std::size_t wanted, std::size_t rows, std::size_t threads, std::size_t step) {
  const std::size_t fair = threads == 1 ? rows : rows / (threads * 4) + 1;
  return roundUp(std::max<std::size_t>(1, std::min(wanted, fair)), step);
}

/** Rows of a unit where each of several matrices is cut alike: at most `most`, in runs of about the same size. */
std::size_t evenRows(std::size_t most, std::size_t rows, std::size_t step) {
  const std::size_t runs = (rows + most - 1) / most;
  return roundUp((rows + runs - 1) / runs, step);
}

/** Choices of a multiplication with experts, and how many of them in a row have the same x. */
std::size_t choicesOf(const ExpertMultiplication& product) { return product.routes.size() / 2; }
std::size_t choicesOfInput(const ExpertMultiplication& product) {
  return choicesOf(product) / (product.x.size() / product.experts.matrix.columns);
}

}  // namespace

void Program::clear() {
  steps_.clear();
  units_ = 0;
  reads_.clear();
  writes_.clear();
  sources_.clear();
  groupings_.clear();
  keepLast(packs_);
  keepLast(singles_);
  keepLast(groups_);
}

void Program::keepLast(Buffers& buffers) {
  if (buffers.size() > 1) buffers.erase(buffers.begin(), buffers.end() - 1);
}

std::span<std::byte> Program::memoryOf(Buffers& buffers, std::size_t bytes) {
  if (buffers.empty() || buffers.back()->size() < bytes) buffers.push_back(std::make_unique<Buffer>(bytes));
  return {buffers.back()->data(), bytes};
}

bool Program::mustWait(const Operation& operation) {
  std::vector<Range> reads;
  std::vector<Range> writes;
  appendReads(operation, reads);
  appendWrites(operation, writes);
  std::erase_if(sources_, [&writes](const Source& source) {
    return anyOverlap({std::as_bytes(source.x), source.packs, std::as_bytes(source.choices)}, writes);
  });
  std::erase_if(groupings_, [&writes](const Grouping& grouping) {
    return anyOverlap({std::as_bytes(grouping.routes), std::as_bytes(grouping.groups.numbers)}, writes);
  });
  const bool wait = anyOverlap(reads, writes_) || anyOverlap(writes, writes_) || anyOverlap(writes, reads_);
  if (wait) {
    reads_.clear();
    writes_.clear();
  }
  reads_.insert(reads_.end(), reads.begin(), reads.end());
  writes_.insert(writes_.end(), writes.begin(), writes.end());
  return wait;
}

void Program::append(Operation operation) {
  const std::size_t units = unitsOf(operation, table_);
  if (units > static_cast<std::size_t>(std::numeric_limits<int>::max() - units_)) throw std::length_error("too long");
  const int waitFor = mustWait(operation) ? units_ : 0;
  steps_.push_back({std::move(operation), static_cast<int>(units), waitFor, 0});
  units_ += static_cast<int>(units);
}

const Program::Source* Program::knownSource(const Source& wanted) const {
  for (const Source& source : sources_) {
    const bool same = source.x.data() == wanted.x.data() && source.x.size() == wanted.x.size() &&
                      source.columns == wanted.columns && source.choices.data() == wanted.choices.data();
    if (same && source.type == wanted.type && source.rounding == wanted.rounding && source.way == wanted.way) {
      return &source;
    }
  }
  return nullptr;
}

std::span<const std::byte> Program::packsOf(const MatrixView& matrix, Rounding rounding, std::span<const float> x) {
  Source wanted{x, matrix.columns, matrix.type, rounding, Way::together, 0, {}, {}};
  if (const Source* known = knownSource(wanted)) return known->packs;
  const ManyTokens& many = manyTokensOf(table_, matrix.type, rounding);
  const std::size_t count = (x.size() / matrix.columns + table_.tokenLanes - 1) / table_.tokenLanes;
  const std::span packs = memoryOf(packs_, count * many.packBytes(matrix.columns));
  append(PackOperation{matrix.type, rounding, matrix.columns, x, packs});
  wanted.packs = packs;
  sources_.push_back(wanted);
  return packs;
}

std::span<const std::byte> Program::singlesOf(const MatrixView& matrix, Rounding rounding, std::span<const float> x) {
  Source wanted{x, matrix.columns, matrix.type, rounding, Way::singly, 0, {}, {}};
  if (const Source* known = knownSource(wanted)) return known->packs;
  const std::size_t bytes = table_.activationBytes(matrix.type, matrix.columns);
  const std::span activations = memoryOf(singles_, x.size() / matrix.columns * bytes);
  append(ActivateOperation{matrix.type, rounding, matrix.columns, x, activations});
  wanted.packs = activations;
  sources_.push_back(wanted);
  return activations;
}

std::size_t Program::sourceOf(const MatrixView& matrix, Rounding rounding, std::span<const float> x) {
  const Source wanted{x, matrix.columns, matrix.type, rounding, Way::byNumber, nextSource_, {}, {}};
  if (const Source* known = knownSource(wanted)) return known->number;
  sources_.push_back(wanted);
  nextSource_ += x.size() / matrix.columns;
  return wanted.number;
}

void Program::multiply(const Multiplication& product) {
  const auto& [matrix, x, y, bias, accumulate, way, finely] = product;
  const std::size_t tokens = x.size() / matrix.columns;
  const auto notToBytes = [finely](Rounding one) { return finely && one == Rounding::byte ? Rounding::word : one; };
  if (tokens == 1 && way != Way::together) {
    const Rounding rounding = notToBytes(roundingOfFew(table_, matrix.type, rounding_));
    const std::size_t source = sourceOf(matrix, rounding, x);
    const std::size_t rows = unitBytes / rowBytes(matrix.type, matrix.columns);
    const std::size_t unitRows = shareRows(rows, matrix.rows, threads_, rowsSideBySide);
    append(MatvecOperation{matrix, x, y, bias, accumulate, rounding, unitRows, source, {}});
    return;
  }
  const Rounding ofFew = notToBytes(roundingOfFew(table_, matrix.type, rounding_));
  const std::size_t most = fewTokensOf(table_, matrix.type, ofFew).most;
  const bool singly = way == Way::singly || (way == Way::byNumber && tokens <= most);
  const Rounding rounding = singly ? ofFew : notToBytes(roundingOfMany(table_, matrix.type, rounding_));
  const std::span packs = singly ? singlesOf(matrix, rounding, x) : packsOf(matrix, rounding, x);
  const std::size_t unitRows = shareRows(unitWeights / matrix.columns, matrix.rows, threads_, table_.tileRows);
  append(MatmulOperation{matrix, tokens, x, packs, singly, y, bias, accumulate, rounding, unitRows});
}

ChoiceGroups Program::groupsOf(std::span<const float> routes, std::size_t experts) {
  for (const auto& [known, groups] : groupings_) {
    if (known.data() == routes.data() && known.size() == routes.size() && groups.experts == experts) return groups;
  }
  const std::size_t length = ChoiceGroups::length(experts, routes.size() / 2);
  auto* numbers = reinterpret_cast<std::size_t*>(memoryOf(groups_, length * sizeof(std::size_t)).data());
  const ChoiceGroups groups{{numbers, length}, experts};
  append(GroupChoicesOperation{routes, groups});
  groupings_.push_back({routes, groups});
  return groups;
}

std::span<const std::byte> Program::expertSinglesOf(const ExpertMultiplication& product, Rounding rounding,
                                                    const ChoiceGroups& groups) {
  const auto& [type, columns] = std::pair(product.experts.matrix.type, product.experts.matrix.columns);
  Source wanted{product.x, columns, type, rounding, Way::singly, 0, {}, groups.numbers};
  if (const Source* known = knownSource(wanted)) return known->packs;
  const std::span activations = memoryOf(singles_, groups.count() * table_.activationBytes(type, columns));
  append(ActivateExpertsOperation{type, rounding, columns, product.x, choicesOfInput(product), groups, activations});
  wanted.packs = activations;
  sources_.push_back(wanted);
  return activations;
}

std::span<const std::byte> Program::expertPacksOf(const ExpertMultiplication& product, Rounding rounding,
                                                  const ChoiceGroups& groups) {
  const auto& [type, columns] = std::pair(product.experts.matrix.type, product.experts.matrix.columns);
  Source wanted{product.x, columns, type, rounding, Way::together, 0, {}, groups.numbers};
  if (const Source* known = knownSource(wanted)) return known->packs;
  // Each expert's last pack may have one choice.
  const std::size_t most = groups.count() / table_.tokenLanes + std::min(product.experts.count, groups.count());
  const std::span packs = memoryOf(packs_, most * manyTokensOf(table_, type, rounding).packBytes(columns));
  append(PackExpertsOperation{type, rounding, columns, product.x, choicesOfInput(product), groups, packs});
  wanted.packs = packs;
  sources_.push_back(wanted);
  return packs;
}

void Program::multiply(const ExpertMultiplication& product) {
  const auto& [experts, routes, used, x, y, bias, way] = product;
  const auto& [matrix, count, rows, stride] = experts;
  const std::size_t tokens = choicesOf(product) / used;
  if (tokens == 1 && way != Way::together) {
    const Rounding rounding = roundingOfFew(table_, matrix.type, rounding_);
    const std::size_t wanted = unitBytes / rowBytes(matrix.type, matrix.columns);
    const std::size_t most = shareRows(wanted, used * rows, threads_, rowsSideBySide);
    append(MatvecExpertsOperation{experts, routes, x, choicesOfInput(product), y, bias, rounding,
                                  evenRows(most, rows, rowsSideBySide), sourceOf(matrix, rounding, x)});
    return;
  }
  const Rounding ofFew = roundingOfFew(table_, matrix.type, rounding_);
  const std::size_t few = fewTokensOf(table_, matrix.type, ofFew).most;
  const std::size_t least = std::max(few + 1, packsOfExpert * table_.tokenLanes);
  const bool singly = way == Way::singly || (way == Way::byNumber && choicesOf(product) / least < count);
  const Rounding rounding = singly ? ofFew : roundingOfMany(table_, matrix.type, rounding_);
  const ChoiceGroups groups = groupsOf(routes, count);
  const std::span packs = singly ? expertSinglesOf(product, rounding, groups) : expertPacksOf(product, rounding, groups);
  // A token chooses `used` experts: so many have something to multiply.
  const std::size_t most = shareRows(unitWeights / matrix.columns, used * rows, threads_, table_.tileRows);
  append(MatmulExpertsOperation{experts, groups, packs, singly, roundUp(tokens, table_.tokenLanes), y, bias, rounding,
                                evenRows(most, rows, table_.tileRows)});
}

Rounding Program::attentionRounding(const CacheView& cache, std::size_t tokens, Way way) const {
  const bool singly = way == Way::singly || (way == Way::byNumber && tokens < attendTogether);
  return singly ? Rounding::word : roundingOfAttention(table_, cache, rounding_);
}

void Program::attend(AttentionOperation operation, Way way) {
  operation.rounding = attentionRounding(operation.cache, tokensOf(operation), way);
  append(std::move(operation));
}

void Program::attend(AttendPagesOperation operation, Way way) {
  operation.rounding = attentionRounding(cacheOf(operation), tokensOf(operation), way);
  append(std::move(operation));
}

/** Checks everything before anything is changed: a program that is placed in part would mix two passes. */
struct Program::Place {
  std::span<const std::size_t> tokens;
  std::size_t position;

  static void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  }
  void inside(const CacheView& cache, std::size_t values, std::size_t heads) const {
    const std::size_t count = values / (heads * cache.headSize);
    require(position <= cache.capacity && count <= cache.capacity - position, "beyond the cache's capacity");
  }

  void check(const EmbedOperation& o) const {
    require(tokens.size() == o.tokens.size(), "another number of tokens than was prepared");
    require(std::all_of(tokens.begin(), tokens.end(), [&o](std::size_t token) { return token < o.table.rows; }),
            "there is no such row");
  }
  void check(const StoreOperation& o) const { inside(o.cache, o.keys.size(), o.cache.kvHeads); }
  void check(const AttentionOperation& o) const { inside(o.cache, o.queries.size(), o.heads); }
  void check(const AttendPagesOperation&) const { require(false, "pages have places of their own"); }
  void check(const auto&) const {}

  void set(EmbedOperation& o) const { std::copy(tokens.begin(), tokens.end(), o.tokens.begin()); }
  void set(StoreOperation& o) const { o.position = position; }
  void set(AttentionOperation& o) const { o.position = position; }
  void set(auto&) const {}
};

void Program::place(std::span<const std::size_t> tokens, std::size_t position) {
  const Place place = {tokens, position};
  for (const Step& step : steps_) std::visit([&place](const auto& o) { place.check(o); }, step.operation);
  for (Step& step : steps_) std::visit([&place](auto& o) { place.set(o); }, step.operation);
}

bool Program::uses(const CacheView& cache) const {
  const auto bytes = std::as_bytes(std::span(cache.keys, cache.bytes()));
  return std::any_of(steps_.begin(), steps_.end(), [bytes](const Step& step) {
    std::vector<Range> ranges;
    appendReads(step.operation, ranges);
    appendWrites(step.operation, ranges);
    return anyOverlap({bytes}, ranges);
  });
}

bool Program::isSmall() const {
  std::size_t bytes = 0;
  for (const Step& step : steps_) bytes += std::visit(ReadBytes{}, step.operation);
  return bytes <= smallBytes;
}

void Program::unpack() {
  for (Step& step : steps_) {
    auto* product = std::get_if<MatvecOperation>(&step.operation);
    if (product == nullptr || isFloat(product->matrix.type)) continue;
    const MatrixView& matrix = product->matrix;
    const FewTokens& few = fewTokensOf(table_, matrix.type, product->rounding);
    const std::size_t bytes = few.unpackedBytes == nullptr ? 0 : few.unpackedBytes(matrix.rows, matrix.columns);
    if (bytes == 0) continue;
    unpacked_.push_back(std::make_unique<Buffer>(bytes));
    few.unpack({matrix.data, matrix.rows, matrix.columns}, unpacked_.back()->data());
    product->unpacked = {unpacked_.back()->data(), bytes};
  }
}

void Program::run(ThreadPool& pool) {
  std::size_t bytes = 0;
  for (const Step& step : steps_) bytes = std::max(bytes, scratchBytesOf(step.operation, table_));
  if (bytes > scratchStride_ || !scratch_) {
    scratchStride_ = roundUp(bytes, 4096) + 4096;
    scratch_.emplace(scratchStride_ * threads_);
  }
  if (nextSize_ < threads_ * steps_.size()) {
    nextSize_ = threads_ * steps_.size();
    next_ = std::make_unique<std::atomic<int>[]>(nextSize_);
  }
  done_.units.store(0, std::memory_order_relaxed);
  int target = units_;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    for (std::size_t thread = 0; thread < threads_; thread++) {
      nextOf(i, thread).store(beginOf(i, thread), std::memory_order_relaxed);
    }
    steps_[i].target = target;
    if (steps_[i].waitFor > 0) target = steps_[i].waitFor;
  }
  pool.run([](void* program, std::size_t thread) { static_cast<Program*>(program)->work(thread); }, this);
}

int Program::beginOf(std::size_t step, std::size_t thread) const {
  return static_cast<int>(static_cast<std::size_t>(steps_[step].units) * thread / threads_);
}

std::atomic<int>& Program::nextOf(std::size_t step, std::size_t thread) {
  return next_[thread * steps_.size() + step];
}

void Program::work(std::size_t thread) noexcept {
  ThreadScratch scratch{scratch_->data() + thread * scratchStride_};
  for (std::size_t i = 0; i < steps_.size(); i++) {
    const Step& step = steps_[i];
    waitUntil(done_.units, step.waitFor);
    for (std::size_t turn = 0; turn < threads_; turn++) {
      const std::size_t share = (thread + turn) % threads_;
      const int end = beginOf(i, share + 1);
      std::atomic<int>& next = nextOf(i, share);
      while (next.load(std::memory_order_relaxed) < end) {
        const int unit = next.fetch_add(1, std::memory_order_relaxed);
        if (unit >= end) break;
        performUnit(step.operation, table_, static_cast<std::size_t>(unit), scratch);
        const int done = done_.units.fetch_add(1, std::memory_order_acq_rel) + 1;
        if (done == step.target && threads_ > 1) done_.units.notify_all();
      }
    }
  }
  waitUntil(done_.units, units_);
}

}  // namespace hearth
