#include "command_reader.hpp"

#include <cmath>

#include "command_checks.hpp"

namespace hearth {

double CommandReader::number() {
  require(!left_.empty(), "a command ends before its operands do");
  const double value = left_.front();
  left_ = left_.subspan(1);
  return value;
}

std::size_t CommandReader::count() {
  const double value = number();
  require(value >= 0 && value <= 9007199254740991.0 && value == std::floor(value), "an operand is not a whole number");
  return static_cast<std::size_t>(value);
}

std::span<float> CommandReader::slice() {
  const std::size_t index = count();
  const std::size_t offset = count();
  const std::size_t length = count();
  require(index < operands_.vectors.size(), "there is no such vector");
  const Buffer& buffer = *operands_.vectors[index];
  const std::size_t size = buffer.size() / sizeof(float);
  require(offset <= size && length <= size - offset, "a slice reaches beyond its vector");
  return {reinterpret_cast<float*>(buffer.data()) + offset, length};
}

std::span<float> CommandReader::optionalSlice() {
  require(left_.size() >= 3, "a command ends before its operands do");
  if (left_.front() >= 0) return slice();
  left_ = left_.subspan(3);
  return {};
}

const MatrixView& CommandReader::matrix() {
  const std::size_t index = count();
  require(index < operands_.matrices.size(), "there is no such matrix");
  return operands_.matrices[index];
}

const CacheView& CommandReader::cache() {
  const std::size_t index = count();
  require(index < operands_.caches.size() && operands_.caches[index], "there is no such cache");
  return operands_.caches[index]->view;
}

std::size_t CommandReader::tokensOfRoutes(std::span<const float> routes, std::size_t used) {
  require(routes.size() % 2 == 0, "routes aren't pairs of an expert and a weight");
  return times(routes.size() / 2, used, "routes aren't whole tokens");
}

Way CommandReader::readWay() {
  const std::size_t way = count();
  require(way <= 2, "there is no such way to multiply");
  return static_cast<Way>(way);
}

std::ptrdiff_t CommandReader::readWindow() {
  const std::size_t window = count();
  return window == 0 ? noWindow : static_cast<std::ptrdiff_t>(window);
}

void CommandReader::read(Program& program) {
  const std::size_t number = count();
  require(number < commandCount, "there is no such operation");
  switch (static_cast<Code>(number)) {
    case Code::Embed:
      return readEmbed(program);
    case Code::RmsNorm:
      return readRmsNorm(program);
    case Code::Multiply:
      return readMultiply(program);
    case Code::Rope:
      return readRope(program);
    case Code::Store:
      return readStore(program);
    case Code::Attention:
      return readAttention(program);
    case Code::AttendPages:
      return readAttendPages(program);
    case Code::DivideRows:
      return readDivideRows(program);
    case Code::Gate:
      return readGate(program);
    case Code::Softmax:
      return readSoftmax(program);
    case Code::Add:
      return readAdd(program);
    case Code::TopK:
      return readTopK(program);
    case Code::Scale:
      return readScale(program);
    case Code::SoftCap:
      return readSoftCap(program);
    case Code::Route:
      return readRoute(program);
    case Code::MultiplyExperts:
      return readMultiplyExperts(program);
    case Code::CombineExperts:
      return readCombineExperts(program);
    case Code::GateRows:
      return readGateRows(program);
    case Code::ScaleExperts:
      return readScaleExperts(program);
    case Code::CopyColumns:
      return readCopyColumns(program);
    case Code::Convolve:
      return readConvolve(program);
    case Code::DeltaRule:
      return readDeltaRule(program);
    case Code::SelectiveScan:
      return readSelectiveScan(program);
  }
}

void CommandReader::readEmbed(Program& program) {
  const MatrixView& table = matrix();
  const auto y = slice();
  const std::size_t tokens = count();
  require(tokens <= left_.size() && y.size() == tokens * table.columns, "embed: y doesn't fit the tokens");
  std::vector<std::size_t> ids(tokens);
  for (auto& id : ids) {
    id = count();
    require(id < table.rows, "embed: there is no such row");
  }
  program.append(EmbedOperation{table, std::move(ids), y});
}

void CommandReader::readRmsNorm(Program& program) {
  const auto x = slice();
  const auto weight = slice();
  const auto y = slice();
  const auto epsilon = static_cast<float>(number());
  const std::size_t width = count();
  times(weight.size(), width, "rms norm: weights aren't whole groups");
  times(x.size(), weight.size(), "rms norm: x isn't whole rows");
  require(y.size() == x.size(), "rms norm: y differs from x");
  program.append(RmsNormOperation{x, weight, y, epsilon, width});
}

void CommandReader::readMultiply(Program& program) {
  const MatrixView& weights = matrix();
  const auto x = slice();
  const auto y = slice();
  const auto bias = optionalSlice();
  const bool accumulate = count() != 0;
  const Way way = readWay();
  const bool finely = count() != 0;
  const std::size_t tokens = times(x.size(), weights.columns, "multiply: x isn't whole rows");
  require(y.size() == tokens * weights.rows, "multiply: y doesn't fit x");
  require(bias.empty() || bias.size() == weights.rows, "multiply: the bias doesn't fit the matrix");
  program.multiply({weights, x, y, bias, accumulate, way, finely});
}

void CommandReader::readRope(Program& program) {
  const auto x = slice();
  const auto angles = slice();
  const std::size_t heads = count();
  const std::size_t headSize = count();
  const bool halves = count() != 0;
  require(heads > 0 && headSize > 0 && headSize <= x.size() / heads, "rope: x is smaller than a token");
  const std::size_t tokens = times(x.size(), heads * headSize, "rope: x isn't whole tokens");
  const std::size_t dimensions = times(angles.size(), tokens, "rope: the angles don't fit the tokens");
  require(dimensions % 2 == 0 && dimensions <= headSize, "rope: more angles than a head has pairs");
  program.append(RopeOperation{x, angles, heads, headSize, dimensions, halves});
}

void CommandReader::readStore(Program& program) {
  const CacheView& to = cache();
  const auto keys = slice();
  const auto values = slice();
  const std::size_t position = count();
  const std::size_t tokens = times(keys.size(), to.kvHeads * to.headSize, "store: keys aren't whole tokens");
  require(values.size() == keys.size(), "store: values differ from keys");
  require(position <= to.capacity && tokens <= to.capacity - position, "store: beyond the cache's capacity");
  program.append(StoreOperation{to, keys, values, position});
}

void CommandReader::readAttention(Program& program) {
  const CacheView& from = cache();
  const auto queries = slice();
  const auto y = slice();
  const std::size_t heads = count();
  const std::size_t position = count();
  const auto scale = static_cast<float>(number());
  const Way way = readWay();
  const std::ptrdiff_t window = readWindow();
  times(heads, from.kvHeads, "attention: query heads aren't a multiple of KV heads");
  require(from.headSize <= queries.size() / heads, "attention: queries are smaller than a token");
  const std::size_t tokens = times(queries.size(), heads * from.headSize, "attention: queries aren't whole tokens");
  require(y.size() == queries.size(), "attention: y differs from the queries");
  require(position <= from.capacity && tokens <= from.capacity - position, "attention: beyond the cache's capacity");
  const auto sinks = optionalSlice();
  require(sinks.empty() || sinks.size() == heads, "attention: not a sink for each head");
  program.attend(AttentionOperation{from, queries, y, heads, position, window, scale, sinks, Rounding::word}, way);
}

void CommandReader::readAttendPages(Program& program) {
  const std::size_t pageCount = count();
  require(pageCount > 0 && pageCount <= left_.size(), "attend pages: there are no pages");
  std::vector<CachePage> pages;
  for (std::size_t page = 0; page < pageCount; page++) {
    const CacheView& own = cache();
    const std::size_t first = count();
    const std::size_t positions = count();
    require(positions <= own.capacity, "attend pages: beyond the cache's capacity");
    pages.push_back({own, first, positions});
    const CacheView& front = pages.front().cache;
    require(own.kvHeads == front.kvHeads && own.headSize == front.headSize && own.type == front.type,
            "attend pages: caches differ in shape");
  }
  const CacheView& from = pages.front().cache;
  const auto queries = slice();
  const auto sums = slice();
  const auto largest = slice();
  const auto totals = slice();
  const std::size_t heads = count();
  const std::size_t position = count();
  const auto scale = static_cast<float>(number());
  const bool begins = count() != 0;
  const Way way = readWay();
  const std::ptrdiff_t window = readWindow();
  times(heads, from.kvHeads, "attend pages: query heads aren't a multiple of KV heads");
  require(from.headSize <= queries.size() / heads, "attend pages: queries are smaller than a token");
  const std::size_t tokens = times(queries.size(), heads * from.headSize, "attend pages: queries aren't whole tokens");
  require(sums.size() == queries.size(), "attend pages: sums differ from the queries");
  require(largest.size() == tokens * heads && totals.size() == largest.size(), "attend pages: not a value for each head");
  const auto sinks = optionalSlice();
  require(sinks.empty() || sinks.size() == heads, "attend pages: not a sink for each head");
  program.attend(AttendPagesOperation{std::move(pages), queries, sums, largest, totals, heads, position, window, scale,
                                      begins, sinks, Rounding::word},
                 way);
}

void CommandReader::readDivideRows(Program& program) {
  const auto divisors = slice();
  const auto y = slice();
  times(y.size(), divisors.size(), "divide rows: y isn't a row for each divisor");
  program.append(DivideRowsOperation{divisors, y});
}

void CommandReader::readGate(Program& program) {
  const auto gate = slice();
  const auto up = slice();
  const auto y = slice();
  const std::size_t activation = count();
  require(activation < activationCount, "gate: there is no such activation function");
  require(up.size() == gate.size(), "gate: up differs from the gate in length");
  require(y.size() == gate.size(), "gate: y differs from the gate in length");
  program.append(GateOperation{gate, up, y, static_cast<Activation>(activation)});
}

void CommandReader::readSoftmax(Program& program) {
  const auto x = slice();
  const auto y = slice();
  const std::size_t width = count();
  require(y.size() == x.size(), "softmax: y differs from x in length");
  times(x.size(), width, "softmax: x isn't whole rows");
  program.append(SoftmaxOperation{x, y, width});
}

void CommandReader::readAdd(Program& program) {
  const auto x = slice();
  const auto y = slice();
  const auto factor = static_cast<float>(number());
  require(y.size() == x.size(), "add: y differs from x in length");
  program.append(AddOperation{x, y, factor});
}

void CommandReader::readScale(Program& program) {
  const auto y = slice();
  program.append(ScaleOperation{y, static_cast<float>(number())});
}

void CommandReader::readSoftCap(Program& program) {
  const auto y = slice();
  const auto cap = static_cast<float>(number());
  require(cap > 0, "soft cap: the cap isn't above 0");
  program.append(SoftCapOperation{y, cap});
}

void CommandReader::readTopK(Program& program) {
  const auto x = slice();
  const auto y = slice();
  const std::size_t width = count();
  const std::size_t rows = times(x.size(), width, "top k: x isn't whole rows");
  const std::size_t numbers = times(y.size(), rows, "top k: y isn't whole rows");
  require(numbers % 2 == 1 && numbers / 2 >= 1 && numbers / 2 <= width, "top k: y doesn't fit the rows");
  program.append(TopKOperation{x, y, width});
}

void CommandReader::readRoute(Program& program) {
  const auto x = slice();
  const auto bias = optionalSlice();
  const auto scales = optionalSlice();
  const auto y = slice();
  const std::size_t experts = count();
  const std::size_t used = count();
  const std::size_t scores = count();
  const bool normalised = count() != 0;
  const double factor = number();
  const std::size_t groups = count();
  const std::size_t groupsUsed = count();
  const std::size_t tokens = times(x.size(), experts, "route: x isn't whole rows");
  require(used >= 1 && used <= experts, "route: more experts are used than there are");
  require(tokensOfRoutes(y, used) == tokens, "route: y doesn't fit the tokens");
  require(bias.empty() || bias.size() == experts, "route: the bias doesn't fit the experts");
  require(scales.empty() || scales.size() == experts, "route: the scales don't fit the experts");
  require(scores < routerScoresCount, "route: there are no such scores");
  const std::size_t size = times(experts, groups, "route: groups differ in size");
  require(groupsUsed <= groups && groupsUsed * size >= used, "route: the groups have too few experts");
  program.append(RouteOperation{
      x, bias, scales, y, {experts, used, static_cast<RouterScores>(scores), normalised, factor, groups, groupsUsed}});
}

void CommandReader::readMultiplyExperts(Program& program) {
  const MatrixView& weights = matrix();
  const std::size_t experts = count();
  const std::size_t rows = count();
  const auto routes = slice();
  const std::size_t used = count();
  const auto x = slice();
  const auto y = slice();
  const auto bias = optionalSlice();
  const Way way = readWay();
  require(experts >= 1 && rows >= 1 && rows <= weights.rows, "multiply experts: the matrix has fewer rows");
  const std::size_t stride =
      experts == 1 ? weights.rows : times(weights.rows - rows, experts - 1, "multiply experts: experts differ in size");
  require(stride >= rows, "multiply experts: the matrix has fewer rows");
  const std::size_t tokens = tokensOfRoutes(routes, used);
  const std::size_t inputs = times(x.size(), weights.columns, "multiply experts: x isn't whole rows");
  require(inputs == tokens || inputs == tokens * used, "multiply experts: x doesn't fit the routes");
  require(times(y.size(), rows, "multiply experts: y isn't whole rows") == tokens * used,
          "multiply experts: y doesn't fit the routes");
  require(bias.empty() || bias.size() == experts * rows, "multiply experts: the bias doesn't fit the matrix");
  program.multiply(ExpertMultiplication{{weights, experts, rows, stride}, routes, used, x, y, bias, way});
}

void CommandReader::readCombineExperts(Program& program) {
  const auto x = slice();
  const auto routes = slice();
  const std::size_t used = count();
  const auto y = slice();
  const bool accumulate = count() != 0;
  const std::size_t tokens = tokensOfRoutes(routes, used);
  const std::size_t width = times(y.size(), tokens, "combine experts: y isn't a row for each token");
  require(times(x.size(), tokens * used, "combine experts: x isn't a row for each choice") == width,
          "combine experts: rows of y differ from those of x");
  program.append(CombineExpertsOperation{x, routes, used, y, accumulate});
}

void CommandReader::readScaleExperts(Program& program) {
  const auto routes = slice();
  const auto scales = slice();
  const auto bias = optionalSlice();
  const auto y = slice();
  const std::size_t choices = times(routes.size(), 2, "scale experts: routes aren't whole");
  const std::size_t rows = times(y.size(), choices, "scale experts: y isn't a row for each choice");
  require(bias.empty() || bias.size() == scales.size() * rows, "scale experts: the bias doesn't fit the scales");
  program.append(ScaleExpertsOperation{routes, scales, bias, y});
}

void CommandReader::readGateRows(Program& program) {
  const auto gate = slice();
  const auto y = slice();
  times(y.size(), gate.size(), "gate rows: y isn't a row for each gate");
  program.append(GateRowsOperation{gate, y});
}

}  // namespace hearth
