#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "operation.hpp"

namespace hearth {

/** Least sum that weights are divided by: the smallest normal number in half precision (llama.cpp's). */
inline constexpr double leastWeightSum = 0x1p-14;

inline double orderable(double score) { return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score; }

/** Numbers of the highest scores, highest first, ties in the order in which they are seen. */
class BestNumbers {
 public:
  /** @param numbers as many as are kept */
  BestNumbers(std::span<const double> scores, std::span<std::size_t> numbers) : scores_(scores), numbers_(numbers) {}

  void see(std::size_t number) {
    const double score = scores_[number];
    if (found_ == numbers_.size() && !(score > scores_[numbers_.back()])) return;
    if (found_ < numbers_.size()) found_++;
    std::size_t at = found_ - 1;
    for (; at > 0 && score > scores_[numbers_[at - 1]]; at--) numbers_[at] = numbers_[at - 1];
    numbers_[at] = number;
  }

 private:
  std::span<const double> scores_;
  std::span<std::size_t> numbers_;
  std::size_t found_ = 0;
};

/** The memory in which a token's experts are chosen. In double precision, so that ties are those of the reference. */
struct RouteScratch {
  /** [experts]: the scores, and what the choice is made by. */
  std::span<double> scores;
  std::span<double> judged;
  /** [groups] */
  std::span<double> groupScores;
  /** [groupsUsed] */
  std::span<std::size_t> groups;
  /** [used] */
  std::span<std::size_t> chosen;

  static std::size_t bytes(const Router& r) {
    return (2 * r.experts + r.groups) * sizeof(double) + (r.groupsUsed + r.used) * sizeof(std::size_t);
  }
  static RouteScratch at(std::byte* bytes, const Router& r) {
    auto* scores = reinterpret_cast<double*>(bytes);
    auto* numbers = reinterpret_cast<std::size_t*>(scores + 2 * r.experts + r.groups);
    return {{scores, r.experts},
            {scores + r.experts, r.experts},
            {scores + 2 * r.experts, r.groups},
            {numbers, r.groupsUsed},
            {numbers + r.groupsUsed, r.used}};
  }
};

/** values = e^values/Σ e^values */
inline void softmaxInPlace(std::span<double> values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double total = 0;
  for (double& value : values) total += value = std::exp(value - largest);
  for (double& value : values) value /= total;
}

inline void scoreExperts(const Router& router, const float* logits, std::span<double> scores) {
  std::copy_n(logits, router.experts, scores.begin());
  if (router.scores == RouterScores::softmax) softmaxInPlace(scores);
  if (router.scores == RouterScores::sigmoid) {
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  }
}

/** The sum of the two largest scores of a group. */
inline double scoreOfGroup(std::span<const double> judged) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  double first = none;
  double second = judged.size() == 1 ? 0 : none;
  for (const double score : judged) {
    second = judged.size() == 1 ? second : std::max(second, std::min(first, score));
    first = std::max(first, score);
  }
  return orderable(first + second);
}

/** Numbers of the experts with the best scores, in the best groups. */
inline void chooseExperts(const Router& router, const RouteScratch& s) {
  const std::size_t size = router.experts / router.groups;
  BestNumbers groups(s.groupScores, s.groups);
  for (std::size_t group = 0; group < router.groups; group++) {
    s.groupScores[group] = scoreOfGroup(s.judged.subspan(group * size, size));
    groups.see(group);
  }
  std::sort(s.groups.begin(), s.groups.end());
  BestNumbers best(s.judged, s.chosen);
  for (const std::size_t group : s.groups) {
    for (std::size_t expert = group * size; expert < (group + 1) * size; expert++) best.see(expert);
  }
}

/**
 * The experts of a token, best first, and their weights: y [used][expert, weight].
 * @param scratch RouteScratch::bytes
 */
inline void routeToken(const Router& router, const float* logits, std::span<const float> bias,
                       std::span<const float> scales, std::byte* scratch, float* y) noexcept {
  const RouteScratch s = RouteScratch::at(scratch, router);
  scoreExperts(router, logits, s.scores);
  for (std::size_t expert = 0; expert < router.experts; expert++) {
    s.judged[expert] = orderable(s.scores[expert] + (bias.empty() ? 0 : bias[expert]));
  }
  chooseExperts(router, s);
  // The scores that the choice was made by are no longer needed.
  const std::span weights = s.judged.first(router.used);
  for (std::size_t i = 0; i < router.used; i++) weights[i] = s.scores[s.chosen[i]];
  if (router.scores == RouterScores::logits) softmaxInPlace(weights);
  double sum = 0;
  for (const double weight : weights) sum += weight;
  const double by = router.factor / (router.normalised ? std::max(sum, leastWeightSum) : 1);
  for (std::size_t i = 0; i < router.used; i++) {
    y[2 * i] = static_cast<float>(s.chosen[i]);
    y[2 * i + 1] = static_cast<float>(weights[i] * by * (scales.empty() ? 1 : scales[s.chosen[i]]));
  }
}

}  // namespace hearth
