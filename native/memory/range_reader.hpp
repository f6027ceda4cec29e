#pragma once
#include <atomic>
#include <cstddef>

#include "buffer.hpp"
#include "pages.hpp"

namespace hearth {

/** How a file is read: `Direct` past the page cache, or `Cached` through it, by exactly the bytes that are asked for. */
enum class ReadWay { Direct, Cached };

/**
 * Reads ranges of a file into memory, for several threads. Direct reads (O_DIRECT) take memory once and needn't be
 * dropped; on file systems without them it reads through the page cache and then drops what it has read.
 *
 * Direct reads are of whole pages. Where a range lies in its pages as its place in memory does, they go there, except
 * for the first and the last page, which may be others' too; otherwise they are copied.
 */
class RangeReader {
 public:
  static constexpr std::size_t alignment = 4096;

  RangeReader(const FileMapping& mapping, ReadWay way);

  /** @throws std::out_of_range if the target has no room for the range at `offset` */
  static void check(FileRange range, const Buffer& target, std::size_t offset);
  /** Reads the range to `offset` of the target. @throws std::system_error; std::runtime_error if the file has shrunk */
  void read(FileRange range, Buffer& target, std::size_t offset);

 private:
  /** Reads a range from its first byte on. Returns the bytes that it has brought, at least one; 0 without direct reads. */
  std::size_t readPages(FileRange range, std::byte* to) const;
  std::size_t readCached(FileRange range, std::byte* to) const;

  const FileMapping& mapping_;
  const ReadWay way_;
  const Descriptor own_;
  /** Whether `own_` reads whole pages past the page cache. */
  std::atomic<bool> direct_;
};

}  // namespace hearth
