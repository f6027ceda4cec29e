#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "descriptor.hpp"

namespace hearth {

/**
 * A file's bytes, read-only, as the page cache holds them: nothing is copied and the system may drop and reread them.
 * A file that shrinks while it is mapped kills the process at the next read beyond its end (SIGBUS), as with any mmap.
 */
class FileMapping {
 public:
  /** Throws std::system_error where the file can't be opened or mapped, std::runtime_error where it is empty. */
  explicit FileMapping(const std::string& path);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  /** Stays open as long as the mapping. */
  [[nodiscard]] int descriptor() const { return file_.number(); }

 private:
  Descriptor file_;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace hearth
