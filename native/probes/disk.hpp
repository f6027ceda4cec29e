#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace hearth {

/** How fast a file is read from its disk. All throw std::system_error if the operating system refuses. */

/**
 * Writes a file's changes out and drops its pages from the page cache. Returns the share of the file that stays in
 * memory (mincore): 0 if all pages were dropped. What a disk, or the host of a virtual machine, caches in its own
 * memory can neither be dropped nor detected.
 */
double dropFromMemory(const std::string& path);

/** Seconds that it takes to read a part of a file once, in order, as prefetching does. */
double readInOrder(const std::string& path, std::size_t begin, std::size_t bytes);

/** Seconds that it takes to touch `pages` random pages of a mapped file, one after another: a page fault each. */
double faultPages(const std::string& path, std::size_t pages, std::uint64_t seed);

}  // namespace hearth
