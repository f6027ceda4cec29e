#include "page_worker.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "read_counter.hpp"

namespace hearth {
namespace {

/** The largest call that no kernel caps, and enough to read at a disk's full rate. */
constexpr std::size_t pieceBytes = std::size_t{4} << 20;

}  // namespace

double PageWorker::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

PageWorker::PageWorker(std::shared_ptr<const FileMapping> mapping)
    : mapping_(std::move(mapping)), reader_(*mapping_), thread_([this] { serve(); }) {}

PageWorker::~PageWorker() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (auto& [number, entry] : entries_) {
    if (entry.act) entry.act();
  }
}

std::size_t PageWorker::submit(PageJob job) {
  if (job.range.from >= job.range.to || job.range.to > mapping_->bytes().size()) {
    throw std::out_of_range("no such part of the file");
  }
  if (job.kind == PageJobKind::Read) {
    if (!job.target) throw std::invalid_argument("nowhere to read to");
    reader_.check(job.range, *job.target, job.offset);
  }
  const std::lock_guard guard(mutex_);
  const std::size_t number = next_++;
  const bool first = job.kind == PageJobKind::Drop;
  Entry& entry = entries_[number];
  entry.done = job.range.from;
  entry.job = std::move(job);
  if (first) {
    queue_.push_front(number);
  } else {
    queue_.push_back(number);
  }
  changed_.notify_all();
  return number;
}

PageOutcome PageWorker::wait(std::size_t number) {
  std::unique_lock guard(mutex_);
  const auto found = entries_.find(number);
  if (found == entries_.end()) throw std::invalid_argument("there is no such job");
  changed_.wait(guard, [&] { return found->second.finished; });
  PageOutcome outcome = std::move(found->second.outcome);
  entries_.erase(found);
  return outcome;
}

std::optional<PageOutcome> PageWorker::poll(std::size_t number) {
  {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(number);
    if (found == entries_.end()) throw std::invalid_argument("there is no such job");
    if (!found->second.finished) return std::nullopt;
  }
  return wait(number);
}

void PageWorker::whenDone(std::size_t number, std::function<void()> act) {
  {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(number);
    if (found != entries_.end() && !found->second.finished) {
      found->second.act = std::move(act);
      return;
    }
  }
  act();
}

void PageWorker::cancel(std::size_t number) {
  const std::lock_guard guard(mutex_);
  const auto found = entries_.find(number);
  if (found != entries_.end() && !found->second.finished) found->second.outcome.cancelled = true;
}

std::optional<std::uint64_t> PageWorker::readBytes() const {
  const int thread = tid_;
  return thread == 0 ? std::nullopt : threadReadBytes(thread);
}

void PageWorker::serve() noexcept {
  tid_ = threadNumber();
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::size_t number = queue_.front();
    // A map's entries stay where they are; only finished ones are taken out.
    Entry& entry = entries_.at(number);
    bool last = entry.outcome.cancelled;
    if (!entry.begun) {
      entry.begun = true;
      entry.outcome.start = entry.outcome.end = now();
    }
    if (!last) {
      guard.unlock();
      try {
        last = step(entry);
      } catch (const std::exception& error) {
        entry.outcome.error = error.what();
        last = true;
      }
      guard.lock();
      entry.outcome.end = now();
    }
    if (!last) continue;
    std::erase(queue_, number);
    entry.finished = true;
    entry.job.target.reset();
    const auto act = std::exchange(entry.act, nullptr);
    changed_.notify_all();
    if (!act) continue;
    guard.unlock();
    act();
    guard.lock();
  }
}

bool PageWorker::step(Entry& entry) {
  const FileRange& range = entry.job.range;
  const bool whole = entry.job.kind == PageJobKind::Drop || entry.job.kind == PageJobKind::Unlock ||
                     entry.job.kind == PageJobKind::WillNeedWhole;
  const FileRange piece = {entry.done, whole ? range.to : std::min(range.to, entry.done + pieceBytes)};
  const auto before = threadReadBytes(tid_);
  const bool goesOn = perform(entry, piece);
  const auto after = threadReadBytes(tid_);
  if (before && after) {
    entry.outcome.bytes += *after - *before;
  } else if (entry.job.kind == PageJobKind::Read) {
    entry.outcome.bytes += piece.to - piece.from;
  }
  entry.done = piece.to;
  return !goesOn || entry.done == range.to;
}

/** Returns whether the job goes on. */
bool PageWorker::perform(Entry& entry, FileRange piece) {
  const PageJob& job = entry.job;
  switch (job.kind) {
    case PageJobKind::WillNeed:
    case PageJobKind::WillNeedWhole:
      adviseWillNeed(*mapping_, piece);
      return true;
    case PageJobKind::Populate:
      // The next piece is on its way while this one is waited for; both exactly, whatever page faults would read ahead.
      adviseWillNeed(*mapping_, piece);
      if (piece.to < job.range.to) {
        adviseWillNeed(*mapping_, {piece.to, std::min(job.range.to, piece.to + pieceBytes)});
      }
      populate(*mapping_, piece);
      return true;
    case PageJobKind::Drop:
      drop(*mapping_, piece, job.lookBack);
      return true;
    case PageJobKind::Lock:
      entry.outcome.refused = !lock(*mapping_, piece);
      return !entry.outcome.refused;
    case PageJobKind::Unlock:
      unlock(*mapping_, piece);
      return true;
    case PageJobKind::Read:
      reader_.read(piece, *job.target, job.offset + (piece.from - job.range.from));
      return true;
  }
  return false;
}

}  // namespace hearth
