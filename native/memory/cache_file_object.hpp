#pragma once
#include <napi.h>

#include <functional>
#include <memory>

#include "cache_file.hpp"

namespace hearth {

/**
 * The JavaScript object of a file of caches: NativeCacheFile of engine/kernels/native/addon.ts.
 * @param memoryOf the memory of the cache with a number
 */
Napi::Value newCacheFile(Napi::Env env, std::unique_ptr<CacheFile> file,
                         std::function<std::shared_ptr<CacheMemory>(std::size_t)> memoryOf);

}  // namespace hearth
