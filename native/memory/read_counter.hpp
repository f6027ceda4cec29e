#pragma once
#include <cstdint>
#include <optional>

namespace hearth {

/** The number by which the system knows the calling thread; 0 where threads have none. */
int threadNumber();
/** Bytes that a thread of this process has made the disk read (read_bytes of Linux's /proc), where the system counts. */
std::optional<std::uint64_t> threadReadBytes(int thread);

}  // namespace hearth
