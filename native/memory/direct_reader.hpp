#pragma once
#include <cstddef>

#include "buffer.hpp"
#include "pages.hpp"

namespace hearth {

/**
 * Reads a file past the page cache (O_DIRECT), so that what is read takes memory once, and none needs to be dropped.
 * Where the file system doesn't offer that, it reads through the page cache and drops what it has read.
 */
class DirectReader {
 public:
  /** Ranges, but for the file's end, and places in memory are multiples of this. */
  static constexpr std::size_t alignment = 4096;

  explicit DirectReader(const FileMapping& mapping);

  /** @throws std::out_of_range or std::invalid_argument where `read` couldn't */
  void check(FileRange range, const Buffer& target, std::size_t offset) const;
  /** Reads the range to `offset` of the target. @throws std::system_error, std::runtime_error where the file has shrunk */
  void read(FileRange range, Buffer& target, std::size_t offset);

 private:
  const FileMapping& mapping_;
  Descriptor direct_;
};

}  // namespace hearth
