#pragma once
#include <algorithm>

#include "group_choices.hpp"
#include "product_units.hpp"

/** Units of products with experts: which rows of which expert they multiply, with which rows of x. */
namespace hearth {

/** Runs of rows into which an expert is cut. */
inline std::size_t runsOf(const auto& o) { return ceilDivide(o.experts.rows, o.unitRows); }

/** A run of the rows of an expert. */
struct ExpertRun {
  Rows rows;
  /** The first row, counted from the expert's first. */
  std::size_t begin;
  /** That of the expert. */
  std::span<const float> bias;
};

inline ExpertRun expertRun(const auto& o, std::size_t expert, std::size_t run) {
  const Experts& experts = o.experts;
  const std::size_t begin = run * o.unitRows;
  const std::size_t count = std::min(o.unitRows, experts.rows - begin);
  const auto bias = o.bias.empty() ? o.bias : o.bias.subspan(expert * experts.rows, experts.rows);
  return {rowsOf(experts.matrix, expert * experts.stride + begin, count), begin, bias};
}

inline std::size_t unitsOfExperts(const MatvecExpertsOperation& o) { return o.routes.size() / 2 * runsOf(o); }
inline std::size_t unitsOfExperts(const MatmulExpertsOperation& o) { return o.experts.count * runsOf(o); }

inline std::size_t scratchBytesOfExperts(const KernelTable& table, const MatvecExpertsOperation& o) {
  const MatrixView& matrix = o.experts.matrix;
  return table.activationBytes(matrix.type, matrix.columns) + o.unitRows * sizeof(float);
}
inline std::size_t sumBytes(const MatmulExpertsOperation& o) {
  return roundUp64(o.together * o.unitRows * sizeof(float));
}
inline std::size_t scratchBytesOfExperts(const KernelTable& table, const MatmulExpertsOperation& o) {
  if (o.singly) return sumBytes(o);
  const MatrixView& matrix = o.experts.matrix;
  const ManyTokens& many = manyTokensOf(table, matrix.type, o.rounding);
  return sumBytes(o) + many.scratchBytes(o.unitRows, matrix.columns, o.together);
}

inline void performExperts(const KernelTable& table, const MatvecExpertsOperation& o, std::size_t unit,
                           ThreadScratch& scratch) {
  const MatrixView& matrix = o.experts.matrix;
  const std::size_t choice = unit / runsOf(o);
  const ExpertRun run = expertRun(o, expertOf(o.routes, choice, o.experts.count), unit % runsOf(o));
  const std::size_t input = choice / o.choicesOfInput;
  const std::byte* activations =
      activationsOf(table, matrix, o.rounding, o.x.data() + input * matrix.columns, o.source + input, scratch);
  float* y = o.y.data() + choice * o.experts.rows + run.begin;
  const auto matvec = fewTokensOf(table, matrix.type, o.rounding).matvec;
  if (run.bias.empty()) return matvec(run.rows, activations, y);
  auto* sums = reinterpret_cast<float*>(scratch.bytes + table.activationBytes(matrix.type, matrix.columns));
  matvec(run.rows, activations, sums);
  finishRows(table, sums, run.begin, run.rows.count, run.bias, false, y);
}

inline void performExperts(const KernelTable& table, const ActivateExpertsOperation& o, std::size_t unit) {
  const std::size_t input = o.groups.choices()[unit] / o.choicesOfInput;
  const std::size_t bytes = table.activationBytes(o.type, o.columns);
  table.activate(o.type, o.rounding, o.x.data() + input * o.columns, o.columns, o.activations.data() + unit * bytes);
}

inline void performExperts(const KernelTable& table, const PackExpertsOperation& o, std::size_t unit,
                           ThreadScratch& scratch) {
  const auto first = o.groups.packs();
  if (unit >= first.back()) return;
  scratch.source = 0;
  const auto expert = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), unit) - first.begin()) - 1;
  const auto rest = o.groups.choicesOf(expert).subspan((unit - first[expert]) * table.tokenLanes);
  const auto choices = rest.first(std::min(table.tokenLanes, rest.size()));
  auto* rows = reinterpret_cast<float*>(scratch.bytes);
  for (std::size_t i = 0; i < choices.size(); i++) {
    std::copy_n(o.x.data() + choices[i] / o.choicesOfInput * o.columns, o.columns, rows + i * o.columns);
  }
  const ManyTokens& many = manyTokensOf(table, o.type, o.rounding);
  many.pack(rows, choices.size(), o.columns, o.packs.data() + unit * many.packBytes(o.columns));
}

/** sums[choice][row] of some of an expert's choices, from the `from`-th on. */
inline void multiplyRun(const KernelTable& table, const MatmulExpertsOperation& o, const Rows& rows, std::size_t expert,
                        std::size_t from, std::size_t count, std::byte* scratch) {
  const auto& [data, stride, columns] = rows;
  const Type type = o.experts.matrix.type;
  auto* sums = reinterpret_cast<float*>(scratch);
  if (o.singly) {
    const std::size_t bytes = table.activationBytes(type, columns);
    const std::byte* activations = o.packs.data() + (o.groups.begins()[expert] + from) * bytes;
    return fewTokensOf(table, type, o.rounding).matvecs({rows, activations, bytes, count, sums, stride});
  }
  const ManyTokens& many = manyTokensOf(table, type, o.rounding);
  const std::size_t pack = o.groups.packs()[expert] + from / table.tokenLanes;
  many.multiply({rows, o.packs.data() + pack * many.packBytes(columns), count, sums, stride, scratch + sumBytes(o)});
}

inline void performExperts(const KernelTable& table, const MatmulExpertsOperation& o, std::size_t unit,
                           ThreadScratch& scratch) {
  scratch.source = 0;
  const std::size_t expert = unit / runsOf(o);
  const auto choices = o.groups.choicesOf(expert);
  const ExpertRun run = expertRun(o, expert, unit % runsOf(o));
  const auto* sums = reinterpret_cast<const float*>(scratch.bytes);
  for (std::size_t from = 0; from < choices.size(); from += o.together) {
    const std::size_t count = std::min(o.together, choices.size() - from);
    multiplyRun(table, o, run.rows, expert, from, count, scratch.bytes);
    for (std::size_t i = 0; i < count; i++) {
      float* y = o.y.data() + choices[from + i] * o.experts.rows + run.begin;
      finishRows(table, sums + i * run.rows.count, run.begin, run.rows.count, run.bias, false, y);
    }
  }
}

}  // namespace hearth
