#pragma once
#include "buffer.hpp"

namespace hearth {

/** The memory of one layer's KV cache, or of a page of it. */
struct CacheMemory {
  /** @param bytes of the keys, and also of the values */
  explicit CacheMemory(std::size_t bytes) : keys(bytes), values(bytes) {}
  Buffer keys;
  Buffer values;
};

}  // namespace hearth
