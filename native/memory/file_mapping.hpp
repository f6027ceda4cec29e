#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "descriptor.hpp"

namespace hearth {

/**
 * A file's bytes, mapped read-only from the page cache: nothing is copied, and the operating system may drop and reread
 * them. If the file shrinks while it is mapped, reading beyond its end kills the process (SIGBUS), as with any mmap.
 */
class FileMapping {
 public:
  /** @throws std::system_error if the file can't be opened or mapped; std::runtime_error if it is empty */
  explicit FileMapping(const std::string& path);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  /** Open as long as the mapping lives. */
  [[nodiscard]] int descriptor() const { return file_.number(); }

 private:
  Descriptor file_;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace hearth
