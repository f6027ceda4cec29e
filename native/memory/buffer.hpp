#pragma once
#include <cstddef>
#include <span>
#include <stdexcept>

namespace hearth {

/** The operating system grants no more memory. engine/kernels/native/addon.ts parses the message. */
class OutOfMemory : public std::runtime_error {
 public:
  explicit OutOfMemory(std::size_t bytes);
};

/**
 * Zeroed memory, aligned to 64 bytes, or to pages of 4 KiB from one page on. Large buffers occupy no memory until they
 * are touched, and use huge pages where the system offers them.
 */
class Buffer {
 public:
  /** @throws OutOfMemory */
  explicit Buffer(std::size_t bytes);
  /** Memory that the caller keeps in place and frees. */
  explicit Buffer(std::span<std::byte> borrowed);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /** Gives the memory of a large buffer back while it is still held; what it had is lost. */
  void discard();

 private:
  std::byte* data_;
  std::size_t size_;
  enum class Origin { heap, mapped, borrowed } origin_;
};

}  // namespace hearth
