#pragma once
#include <cstddef>

#include "../../formats/formats.hpp"

/** How dot products want the weights of a superblock, and in which lanes they add them up. */
namespace hearth {
namespace {

/** Formats whose weights are four times as large in every other chunk: bytes are shifted half as often. */
constexpr bool isRaised(Type type) { return type == Type::Q2_K || type == Type::TQ2_0; }

/** Formats whose chunks come by twos, the first halves of both before the second ones, as they are in their nibbles. */
constexpr bool isHalved(Type type) { return type == Type::IQ4_XS; }

/** Formats whose groups' scales are multiplied with sums of 16 bits, by the instruction that widens those. */
constexpr bool hasWordScales(Type type) { return type == Type::Q2_K; }

/**
 * The groups of 16 weights in the lanes of sums: lane i of the first eight is that of group laneGroups[i], of the second
 * that of the eight groups behind them. Also the chunks in the lanes of those that are halved.
 */
inline constexpr std::size_t laneGroups[8] = {0, 2, 4, 6, 1, 3, 5, 7};

}  // namespace
}  // namespace hearth
