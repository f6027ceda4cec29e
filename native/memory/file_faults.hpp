#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

/**
 * Mapped memory whose file can't be read any more: it has shrunk, or its disk fails. The operating system answers a
 * load from such memory with SIGBUS, which ends a process. While a FaultGuard covers the memory, the load and all
 * later ones beyond it read zeros instead, and `happened` is true: whoever computes with the memory must ask
 * afterwards, and discard the result.
 */
class FaultGuard {
 public:
  /** Throws std::length_error if too many mappings are guarded at once. */
  explicit FaultGuard(std::span<const std::uint8_t> memory);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  [[nodiscard]] bool happened() const noexcept;

 private:
  std::size_t place_;
};

}  // namespace hearth
