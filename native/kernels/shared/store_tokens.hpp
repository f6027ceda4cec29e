#pragma once
#include "portable_simd.hpp"
#include "rows.hpp"

/** Writes the keys and values of tokens to a cache, in the layout of CacheView. */
namespace hearth {
namespace {

/** A number of `float32` or `half` at a place of a cache. */
template <Type T>
inline void storeFloat(float value, std::uint8_t* to) {
  if constexpr (T == Type::F32) {
    __builtin_memcpy(to, &value, sizeof value);
  } else {
    PortableSimd::storeHalf(to, value);
  }
}

/** The scale of 32 values, and the quants that it gives, from −128 to 127. */
struct Quantized {
  std::uint16_t scale;
  std::int8_t quants[cacheGroup];
};

/**
 * Rounds 32 values as engine/gguf/formats/legacy-quants.ts does, operation by operation in double precision, so that
 * caches of all kernels are the same. Values that aren't finite make the scale NaN, and with it all that is attended.
 */
template <Type T>
inline Quantized quantizeGroup(const float* x) {
  constexpr double low = T == Type::Q8_0 ? -127 : -8;
  constexpr double high = T == Type::Q8_0 ? 127 : 7;
  double furthest = 0;
  float sum = 0;
  for (std::size_t i = 0; i < cacheGroup; i++) {
    const double value = x[i];
    if (__builtin_fabs(value) > __builtin_fabs(furthest)) furthest = value;
    sum += x[i] * 0.0f;
  }
  Quantized out{};
  const double wanted = T == Type::Q8_0 ? __builtin_fabs(furthest) / 127 : furthest / -8;
  out.scale = floatToHalf(sum == 0 ? static_cast<float>(wanted) : __builtin_nanf(""));
  const double scale = halfToFloat(out.scale);
  if (sum != 0 || scale == 0) return out;
  const double inverse = 1 / scale;
  for (std::size_t i = 0; i < cacheGroup; i++) {
    const double value = inverse * x[i];
    const double rounded = value <= low ? low : value >= high ? high : __builtin_floor(value + 0.5);
    out.quants[i] = static_cast<std::int8_t>(rounded);
  }
  return out;
}

/** Writes 32 quants to places at a distance of `stride` bytes; of Q4_0, the second half in the high bits of the first. */
template <Type T>
inline void storeQuants(const Quantized& group, std::size_t stride, std::uint8_t* to) {
  constexpr std::size_t places = T == Type::Q8_0 ? cacheGroup : cacheGroup / 2;
  for (std::size_t i = 0; i < places; i++) {
    const int first = group.quants[i];
    to[i * stride] = static_cast<std::uint8_t>(T == Type::Q8_0 ? first : (first + 8) | (group.quants[i + 16] + 8) << 4);
  }
}

/** Writes one head's key and value of a token to a place in a block. */
template <class S, Type T>
void storeHead(const float* key, const float* value, std::size_t size, std::size_t place, std::uint8_t* keys,
               std::uint8_t* values) {
  if constexpr (isFloat(T)) {
    constexpr std::size_t bytes = formatOf(T).bytes;
    for (std::size_t i = 0; i < size; i++) storeFloat<T>(key[i], keys + (i * positionBlock + place) * bytes);
    storeRow<S>(T, value, size, values + place * size * bytes);
  } else {
    constexpr std::size_t rowBytes = formatOf(T).bytes - sizeof(std::uint16_t);
    for (std::size_t from = 0; from < size; from += cacheGroup) {
      const std::size_t at = from / cacheGroup * groupBytes(T);
      const Quantized ofKey = quantizeGroup<T>(key + from);
      const Quantized ofValue = quantizeGroup<T>(value + from);
      __builtin_memcpy(keys + at + 2 * place, &ofKey.scale, sizeof ofKey.scale);
      __builtin_memcpy(values + at + 2 * place, &ofValue.scale, sizeof ofValue.scale);
      storeQuants<T>(ofKey, positionBlock, keys + at + scalesBytes + place);
      storeQuants<T>(ofValue, 1, values + at + scalesBytes + place * rowBytes);
    }
  }
}

/** Writes one token's keys and values of all KV heads to a position. */
template <class S>
void storeToken(const CacheView& cache, std::size_t position, const float* keys, const float* values) {
  const std::size_t size = cache.headSize;
  forEachType([&]<Type T>() {
    if constexpr (isCacheType(T)) {
      for (std::size_t head = 0; cache.type == T && head < cache.kvHeads; head++) {
        const std::size_t at = cache.blockAt(head, position);
        storeHead<S, T>(keys + head * size, values + head * size, size, position % positionBlock, cache.keys + at,
                        cache.values + at);
      }
    }
  });
}

}  // namespace
}  // namespace hearth
