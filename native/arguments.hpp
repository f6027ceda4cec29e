#pragma once
#include <napi.h>

#include <cstddef>
#include <stdexcept>

/** Numbers that come from JavaScript and go there. */
namespace hearth {

/** Throws std::invalid_argument unless the value is from 0 to 2⁵³ − 1. */
inline std::size_t wholeNumber(double value) {
  if (!(value >= 0 && value <= 9007199254740991.0)) throw std::invalid_argument("an argument is not a whole number");
  return static_cast<std::size_t>(value);
}

/** Throws std::invalid_argument unless the argument is a number from 0 to 2⁵³ − 1. */
inline std::size_t wholeNumber(const Napi::CallbackInfo& info, std::size_t index) {
  return wholeNumber(info[index].As<Napi::Number>().DoubleValue());
}

inline Napi::Number toNumber(const Napi::CallbackInfo& info, std::size_t value) {
  return Napi::Number::New(info.Env(), static_cast<double>(value));
}

}  // namespace hearth
