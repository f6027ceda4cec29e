#include "command_checks.hpp"
#include "command_reader.hpp"

/** Commands of recurrent layers. Sizes are divided out of vectors' lengths: no product of operands can overflow. */
namespace hearth {
namespace {

/** Columns from `first` on of rows of a width. */
struct Columns {
  std::size_t width;
  std::size_t first;
};

/** From the first column of the first row to the last one of the last row. */
std::span<float> spanned(std::span<float> values, const Columns& place, std::size_t columns) {
  require(place.first < place.width && columns <= place.width - place.first, "copy columns: more than a row has");
  return values.subspan(place.first, values.size() - place.width + columns);
}

}  // namespace

void CommandReader::readCopyColumns(Program& program) {
  const auto x = slice();
  const Columns from = {count(), count()};
  const auto y = slice();
  const Columns to = {count(), count()};
  const std::size_t columns = count();
  const std::size_t repeats = count();
  const std::size_t rows = times(x.size(), from.width, "copy columns: x isn't whole rows");
  const std::size_t copies = times(y.size(), to.width, "copy columns: y isn't whole rows");
  require(times(copies, repeats, "copy columns: y isn't rows for each row of x") == rows,
          "copy columns: the rows of y don't fit those of x");
  require(columns >= 1, "copy columns: there are no columns");
  program.append(
      CopyColumnsOperation{spanned(x, from, columns), spanned(y, to, columns), from.width, to.width, columns, repeats});
}

void CommandReader::readConvolve(Program& program) {
  const auto x = slice();
  const auto weight = slice();
  const std::size_t width = count();
  const auto bias = optionalSlice();
  const auto state = slice();
  const auto y = slice();
  const bool silu = count() != 0;
  require(width >= 2, "convolve: the width is less than 2");
  const std::size_t channels = times(weight.size(), width, "convolve: weights aren't whole channels");
  times(x.size(), channels, "convolve: x isn't whole rows");
  require(y.size() == x.size(), "convolve: y differs from x in length");
  require(bias.empty() || bias.size() == channels, "convolve: the bias doesn't fit the channels");
  require(state.size() == weight.size() - channels, "convolve: the state doesn't fit the weights");
  program.append(ConvolveOperation{x, weight, width, bias, state, y, silu});
}

void CommandReader::readDeltaRule(Program& program) {
  const auto x = slice();
  const auto strength = slice();
  const auto decay = slice();
  const auto decayBias = slice();
  const auto rate = slice();
  const auto state = slice();
  const auto y = slice();
  const std::size_t keyHeads = count();
  const std::size_t valueHeads = count();
  const std::size_t size = count();
  const bool apart = count() != 0;
  const auto epsilon = static_cast<float>(number());
  require(rate.size() == valueHeads && decayBias.size() == rate.size(),
          "delta rule: not a rate and a bias for each head");
  times(valueHeads, keyHeads, "delta rule: value heads aren't a multiple of key heads");
  require(times(times(state.size(), valueHeads, "delta rule: the state isn't whole heads"), size,
                "delta rule: the state isn't whole rows") == size,
          "delta rule: the state isn't square");
  const std::size_t tokens = times(y.size(), valueHeads * size, "delta rule: y isn't whole tokens");
  require(times(x.size(), (2 * keyHeads + valueHeads) * size, "delta rule: x isn't whole tokens") == tokens,
          "delta rule: x differs from y in tokens");
  require(strength.size() == tokens * valueHeads && decay.size() == strength.size(),
          "delta rule: not a strength and a decay for each token's heads");
  program.append(DeltaRuleOperation{x, strength, decay, decayBias, rate, state, y, keyHeads, valueHeads, size, apart,
                                    epsilon});
}

void CommandReader::readSelectiveScan(Program& program) {
  const auto x = slice();
  const auto step = slice();
  const auto stepBias = slice();
  const auto rate = slice();
  const auto skip = slice();
  const auto state = slice();
  const auto y = slice();
  const std::size_t heads = count();
  const std::size_t headSize = count();
  const std::size_t groups = count();
  const std::size_t stateSize = count();
  require(stepBias.size() == heads && rate.size() == heads && skip.size() == heads,
          "selective scan: not a bias, a rate and a skip for each head");
  times(heads, groups, "selective scan: heads aren't a multiple of groups");
  require(times(times(state.size(), heads, "selective scan: the state isn't whole heads"), headSize,
                "selective scan: the state isn't whole rows") == stateSize,
          "selective scan: the state doesn't fit its size");
  const std::size_t tokens = times(y.size(), heads * headSize, "selective scan: y isn't whole tokens");
  const std::size_t width = heads * headSize + 2 * groups * stateSize;
  require(times(x.size(), width, "selective scan: x isn't whole tokens") == tokens,
          "selective scan: x differs from y in tokens");
  require(step.size() == tokens * heads, "selective scan: not a step for each token's heads");
  program.append(
      SelectiveScanOperation{x, step, stepBias, rate, skip, state, y, heads, headSize, groups, stateSize});
}

}  // namespace hearth
