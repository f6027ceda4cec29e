#pragma once
#include <cstddef>

#include "buffer.hpp"
#include "pages.hpp"

namespace hearth {

/**
 * Reads a file past the page cache (O_DIRECT), so that its bytes take memory once and needn't be dropped. On file
 * systems without direct reads it reads through the page cache and then drops what it has read.
 */
class DirectReader {
 public:
  /** Ends of ranges (except the file's end) and addresses in memory are multiples of this. */
  static constexpr std::size_t alignment = 4096;

  explicit DirectReader(const FileMapping& mapping);

  /** @throws std::out_of_range or std::invalid_argument if `read` couldn't do this */
  void check(FileRange range, const Buffer& target, std::size_t offset) const;
  /** Reads the range to `offset` of the target. @throws std::system_error; std::runtime_error if the file has shrunk */
  void read(FileRange range, Buffer& target, std::size_t offset);

 private:
  const FileMapping& mapping_;
  Descriptor direct_;
};

}  // namespace hearth
