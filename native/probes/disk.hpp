#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace hearth {

/** How fast a file comes from its disk. All throw std::system_error where the system refuses. */

/**
 * Asks the system to forget what it holds of a file in memory (that file only), after writing out what is still to be
 * written. Returns the share of the file that stays in memory all the same, by mincore: 0 where all was forgotten. What
 * a disk, or the host of a virtual machine, keeps in memory of its own can neither be dropped nor seen.
 */
double dropFromMemory(const std::string& path);

/** Seconds of reading a part of a file once, in order, as whoever reads weights ahead does. */
double readInOrder(const std::string& path, std::size_t begin, std::size_t bytes);

/** Seconds of touching `pages` pages of a mapped file here and there, one after another: a page fault each. */
double faultPages(const std::string& path, std::size_t pages, std::uint64_t seed);

}  // namespace hearth
