#pragma once
#include <memory>
#include <vector>

#include "../memory/buffer.hpp"
#include "../memory/cache_memory.hpp"
#include "operation.hpp"

namespace hearth {

struct Cache {
  std::shared_ptr<CacheMemory> memory;
  CacheView view;
};

/** Objects that commands refer to by number. */
struct Operands {
  std::vector<MatrixView> matrices;
  std::vector<std::shared_ptr<Buffer>> vectors;
  /** A freed one is null. */
  std::vector<std::unique_ptr<Cache>> caches;
};

}  // namespace hearth
