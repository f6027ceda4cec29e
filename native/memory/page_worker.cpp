#include "page_worker.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "read_counter.hpp"

namespace hearth {
namespace {

/** The largest request that no operating system cuts short, and enough to read at a disk's full rate. */
constexpr std::size_t pieceBytes = std::size_t{4} << 20;

/** Jobs that are done in one piece. */
bool isWhole(PageJobKind kind) {
  return kind == PageJobKind::Drop || kind == PageJobKind::Unlock || kind == PageJobKind::WillNeedWhole;
}

/** The places in memory of a piece of a read. */
RangeReader::Places placesOf(const PageJob& job, FileRange piece) {
  RangeReader::Places places;
  std::size_t at = job.range.from;
  for (const ReadTarget& target : job.targets) {
    const std::size_t low = std::max(at, piece.from);
    const std::size_t high = std::min(at + target.bytes, piece.to);
    if (low < high) places.push_back({target.buffer->data() + target.offset + (low - at), high - low});
    at += target.bytes;
  }
  return places;
}

}  // namespace

PageWorker::PageWorker(std::shared_ptr<const FileMapping> mapping, PageWorkerOptions options)
    : mapping_(std::move(mapping)),
      reader_(*mapping_, options.way),
      jobs_([this](Progress& progress, PageOutcome& outcome) { return step(progress, outcome); }, options.threads) {}

std::size_t PageWorker::submit(PageJob job) {
  if (job.range.from >= job.range.to || job.range.to > mapping_->bytes().size()) {
    throw std::out_of_range("no such part of the file");
  }
  if (job.kind == PageJobKind::Read) {
    if (job.targets.empty()) throw std::invalid_argument("nowhere to read to");
    RangeReader::check(job.range, job.targets);
  }
  const Priority priority = job.kind == PageJobKind::Drop ? Priority::Urgent : Priority::Normal;
  const std::size_t from = job.range.from;
  return jobs_.submit({std::move(job), from}, priority);
}

std::optional<std::uint64_t> PageWorker::readBytes() const {
  if (!threadReadBytes(systemThread())) return std::nullopt;
  std::uint64_t sum = 0;
  for (const int thread : jobs_.systemThreads()) {
    if (thread == 0) continue;  // it has read nothing yet
    const auto bytes = threadReadBytes(thread);
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

bool PageWorker::step(Progress& progress, PageOutcome& outcome) {
  const PageJob& job = progress.job;
  // Pieces end at whole pages, so that none is read twice.
  const std::size_t first = progress.next / RangeReader::alignment * RangeReader::alignment;
  const std::size_t to = isWhole(job.kind) ? job.range.to : std::min(job.range.to, first + pieceBytes);
  const FileRange piece = {progress.next, to};
  const auto before = threadReadBytes(systemThread());
  try {
    perform(job, piece, outcome);
  } catch (const std::exception&) {
    if (mapping_->hasShrunk()) mapping_->fail();
    throw;
  }
  mapping_->check();
  const auto after = threadReadBytes(systemThread());
  if (before && after) {
    outcome.bytes += *after - *before;
  } else if (job.kind == PageJobKind::Read) {
    outcome.bytes += piece.to - piece.from;
  }
  progress.next = piece.to;
  return outcome.refused || progress.next == job.range.to;
}

void PageWorker::perform(const PageJob& job, FileRange piece, PageOutcome& outcome) {
  switch (job.kind) {
    case PageJobKind::WillNeed:
    case PageJobKind::WillNeedWhole:
      return adviseWillNeed(*mapping_, piece);
    case PageJobKind::Populate:
      // The next piece is read while this one is awaited; both exactly, however far page faults would read ahead.
      adviseWillNeed(*mapping_, piece);
      if (piece.to < job.range.to) {
        adviseWillNeed(*mapping_, {piece.to, std::min(job.range.to, piece.to + pieceBytes)});
      }
      return populate(*mapping_, piece);
    case PageJobKind::Drop:
      return drop(*mapping_, piece, job.lookBack);
    case PageJobKind::Lock:
      outcome.refused = !lock(*mapping_, piece);
      return;
    case PageJobKind::Unlock:
      return unlock(*mapping_, piece);
    case PageJobKind::Read:
      return reader_.read(piece.from, placesOf(job, piece));
  }
}

}  // namespace hearth
