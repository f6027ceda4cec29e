#pragma once
#include <cstddef>
#include <stdexcept>

namespace hearth {

/** The system grants no more memory. engine/kernels/native reads the message. */
class OutOfMemory : public std::runtime_error {
 public:
  explicit OutOfMemory(std::size_t bytes);
};

/**
 * Zeroed memory aligned to 64 bytes, from a page on to pages of 4 KiB. Where it is large it takes no room before it is
 * touched, and lies on huge pages where the system offers them.
 */
class Buffer {
 public:
  /** @throws OutOfMemory */
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
  bool isMapped_;
};

}  // namespace hearth
