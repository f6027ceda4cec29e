#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace hearth {

/** The likeliest tokens of a model, written one after the other. */
struct GreedyText {
  /** Tokens that are evaluated first, at least one, and the position of the first. */
  std::span<const std::size_t> known;
  std::size_t position;
  /** The most tokens that follow. */
  std::size_t most;
  /** A token follows if its logit leads the next one by so much. */
  float leastLead;
  /** Tokens after which none follows. */
  std::span<const std::size_t> ends;
  /** The angles of each position, and where a pass finds its own. */
  std::span<const float> angles;
  std::span<float> passAngles;
  /** Logits of the last pass. */
  std::span<const float> logits;

  [[nodiscard]] std::size_t passes() const { return known.size() + most - 1; }
  void check() const {
    if (known.empty() || most == 0) throw std::invalid_argument("a text needs tokens before it, and at least one to write");
    if (most > std::numeric_limits<std::size_t>::max() / 2 - known.size()) throw std::length_error("too many tokens");
    if (passAngles.empty() || angles.size() / passAngles.size() < passes()) {
      throw std::invalid_argument("every pass needs its angles");
    }
  }
  /** The first of the likeliest tokens, if it leads by enough; none if it isn't a number. */
  [[nodiscard]] std::optional<std::size_t> next() const {
    float first = -std::numeric_limits<float>::infinity();
    float second = first;
    std::size_t token = logits.size();
    for (std::size_t i = 0; i < logits.size(); i++) {
      if (logits[i] > first) {
        second = first;
        first = logits[i];
        token = i;
      } else if (logits[i] > second) {
        second = logits[i];
      }
    }
    if (token == logits.size() || !(first - second >= leastLead)) return std::nullopt;
    return token;
  }
};

/**
 * @param run evaluates a token at a position
 * @param written the tokens are added to it
 * @returns the number of passes
 */
template <class Run>
std::size_t writeGreedily(const GreedyText& text, const Run& run, std::vector<std::size_t>& written) {
  text.check();
  const std::size_t width = text.passAngles.size();
  std::size_t pass = 0;
  std::size_t token = text.known[0];
  for (std::size_t chosen = 0;;) {
    std::copy_n(text.angles.data() + pass * width, width, text.passAngles.data());
    run(token, text.position + pass);
    pass++;
    if (pass < text.known.size()) {
      token = text.known[pass];
      continue;
    }
    const std::optional<std::size_t> next = text.next();
    if (!next) return pass;
    token = *next;
    written.push_back(token);
    chosen++;
    if (chosen == text.most || std::find(text.ends.begin(), text.ends.end(), token) != text.ends.end()) return pass;
  }
}

}  // namespace hearth
