#pragma once
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "pages.hpp"

namespace hearth {

/** How a file is read: `Direct` past the page cache, or `Cached` through it, by exactly the bytes that are asked for. */
enum class ReadWay { Direct, Cached };

/** A part of a buffer, and the number of bytes of a range that it takes. */
struct ReadTarget {
  std::shared_ptr<Buffer> buffer;
  std::size_t offset;
  std::size_t bytes;
};

/**
 * Reads ranges of a file into memory, for several threads. Direct reads (O_DIRECT) take memory once and needn't be
 * dropped; on file systems without them it reads through the page cache and then drops what it has read.
 *
 * Direct reads are of whole pages. Where a range lies in its pages as its places in memory do, they go there, except
 * for the first and the last page, which may be others' too; otherwise they are copied.
 */
class RangeReader {
 public:
  static constexpr std::size_t alignment = 4096;
  /** Places in memory that take the bytes of a range, one after the other. */
  using Places = std::vector<iovec>;

  RangeReader(const FileMapping& mapping, ReadWay way);

  /** @throws std::out_of_range if the targets have no room for the range, or more than it has bytes */
  static void check(FileRange range, const std::vector<ReadTarget>& targets);
  /** Reads the file from a byte on. @throws std::system_error; std::runtime_error if the file has shrunk */
  void read(std::size_t from, Places places);

 private:
  /** Reads from a byte of the file on. Returns the bytes that it has brought, at least one; 0 without direct reads. */
  std::size_t readPages(std::size_t from, const Places& places) const;
  std::size_t readCached(std::size_t from, const Places& places) const;

  const FileMapping& mapping_;
  const ReadWay way_;
  const Descriptor own_;
  /** Whether `own_` reads whole pages past the page cache. */
  std::atomic<bool> direct_;
};

}  // namespace hearth
