#pragma once
#include <cstddef>

#include "file_mapping.hpp"

/** Requests to the page cache about a mapped file. Each throws std::system_error if the operating system refuses. */
namespace hearth {

/** Bytes of the file from `from` up to, but not including, `to`. */
struct FileRange {
  std::size_t from;
  std::size_t to;
};

/** Bytes of the range that are in memory (mincore); takes 12 to 30 ms per GiB. */
std::size_t residentBytes(const FileMapping& mapping, FileRange range);
/** Asks for the range without waiting. Linux silently limits each call to its readahead: ask for at most 4 MiB. */
void adviseWillNeed(const FileMapping& mapping, FileRange range);
/** Reads and maps the range, and waits until that is done. */
void populate(const FileMapping& mapping, FileRange range);
/** Sets whether page faults in the mapping read only the missing page (`random`), or read ahead. */
void adviseRandom(const FileMapping& mapping, bool random);
/**
 * Releases the whole pages of the range: unmaps them, then drops them from the page cache; either alone has no effect.
 * A large folio that reaches beyond the range stays in memory, so `lookBack` bytes before the range, which are no
 * longer mapped, are dropped again.
 */
void drop(const FileMapping& mapping, FileRange range, std::size_t lookBack);
/** Reads the range and keeps it in memory. Returns false if the limit of locked memory is reached (RLIMIT_MEMLOCK). */
bool lock(const FileMapping& mapping, FileRange range);
void unlock(const FileMapping& mapping, FileRange range);

}  // namespace hearth
