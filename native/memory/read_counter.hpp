#pragma once
#include <cstdint>
#include <optional>

namespace hearth {

/**
 * Bytes that a thread of this process has caused to be read from disk (read_bytes of Linux's /proc), where the
 * operating system counts them.
 * @param thread its number (systemThread); 0: unknown, which isn't counted
 */
std::optional<std::uint64_t> threadReadBytes(int thread);

}  // namespace hearth
