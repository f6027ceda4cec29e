#include "read_counter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "descriptor.hpp"

namespace hearth {

std::optional<std::uint64_t> threadReadBytes([[maybe_unused]] int thread) {
#ifdef __linux__
  if (thread == 0) return std::nullopt;
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/io";
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return std::nullopt;
  char text[512];
  const ssize_t length = read(file.number(), text, sizeof text - 1);
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  constexpr const char* key = "\nread_bytes: ";
  const char* found = std::strstr(text, key);
  if (found == nullptr) return std::nullopt;
  return std::strtoull(found + std::strlen(key), nullptr, 10);
#else
  return std::nullopt;
#endif
}

}  // namespace hearth
