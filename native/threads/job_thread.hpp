#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hearth {

/** Seconds on the clock of the outcomes, which never goes back. */
double secondsNow();

/** The number by which the operating system knows the calling thread; 0 where threads have none. */
int systemThread();

/** Facts about a job that has ended; kinds of jobs add fields of their own. */
struct JobOutcome {
  /** Seconds on the clock of secondsNow. */
  double start = 0;
  double end = 0;
  bool cancelled = false;
  /** Empty if the job succeeded. */
  std::string error;
};

enum class Priority { Normal, Urgent };

/**
 * Threads of its own that do jobs, so that callers block only in `wait`: one, unless more are asked for, each of which
 * does a job at a time. A thread starts with the first job for which no other is free. A job is done in steps; between
 * two steps an urgent job may go first. Jobs of the same priority are begun in the order of submission. `Outcome` derives
 * from JobOutcome.
 */
template <class Job, class Outcome>
class JobThread {
 public:
  /** Does the next step of a job, on a thread. Returns whether it was the last. An exception ends the job. */
  using Step = std::function<bool(Job&, Outcome&)>;

  explicit JobThread(Step step, std::size_t threads = 1) : step_(std::move(step)), systemThreads_(threads) {}

  /** Abandons unfinished jobs after the current step, and calls what waits for them in `whenDone`. */
  ~JobThread() {
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
    for (auto& [number, entry] : entries_) {
      if (entry.callback) entry.callback();
    }
  }

  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  /** Returns the job's number. Throws std::system_error if the operating system gives it no thread. */
  std::size_t submit(Job job, Priority priority) {
    const std::lock_guard guard(mutex_);
    if (free_ <= urgent_.size() + normal_.size() && threads_.size() < systemThreads_.size()) start();
    const std::size_t number = nextNumber_++;
    entries_[number].job.emplace(std::move(job));
    queueOf(priority).push_back(number);
    changed_.notify_all();
    return number;
  }

  /** Blocks until the job has ended. The outcome is given once: the number is invalid afterwards. */
  Outcome wait(std::size_t number) {
    std::unique_lock guard(mutex_);
    const auto found = find(number);
    changed_.wait(guard, [&] { return found->second.finished; });
    return take(found);
  }

  /** The outcome if the job has ended; then the number is invalid afterwards. */
  std::optional<Outcome> poll(std::size_t number) {
    const std::lock_guard guard(mutex_);
    const auto found = find(number);
    if (!found->second.finished) return std::nullopt;
    return take(found);
  }

  /**
   * Calls `callback` once the job has ended, or will never end because this is destroyed: from the thread, or at once
   * from this one.
   */
  void whenDone(std::size_t number, std::function<void()> callback) {
    {
      const std::lock_guard guard(mutex_);
      const auto found = entries_.find(number);
      if (found != entries_.end() && !found->second.finished) {
        found->second.callback = std::move(callback);
        return;
      }
    }
    callback();
  }

  /** Ends the job after its current step. */
  void cancel(std::size_t number) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(number);
    if (found != entries_.end() && !found->second.finished) found->second.outcome.cancelled = true;
  }

  /** The operating system's numbers of the threads; 0 for one that hasn't started, and where threads have none. */
  [[nodiscard]] std::vector<int> systemThreads() const { return {systemThreads_.begin(), systemThreads_.end()}; }

 private:
  struct Entry {
    /** Empty once the job has ended: what it held in memory is released. */
    std::optional<Job> job;
    Outcome outcome{};
    bool begun = false;
    bool finished = false;
    std::function<void()> callback;
  };
  using Entries = std::map<std::size_t, Entry>;

  std::deque<std::size_t>& queueOf(Priority priority) { return priority == Priority::Urgent ? urgent_ : normal_; }

  typename Entries::iterator find(std::size_t number) {
    const auto found = entries_.find(number);
    if (found == entries_.end()) throw std::invalid_argument("there is no such job");
    return found;
  }

  Outcome take(typename Entries::iterator found) {
    Outcome outcome = std::move(found->second.outcome);
    entries_.erase(found);
    return outcome;
  }

  /** Starts one more thread; without it, the job that needs it waits for another. The mutex is held. */
  void start() {
    try {
      threads_.emplace_back([this, place = threads_.size()] { serve(place); });
      free_++;
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
    }
  }

  void serve(std::size_t place) noexcept {
    systemThreads_[place] = hearth::systemThread();
    std::unique_lock guard(mutex_);
    for (;;) {
      changed_.wait(guard, [this] { return stopping_ || !urgent_.empty() || !normal_.empty(); });
      if (stopping_) return;
      std::deque<std::size_t>& queue = urgent_.empty() ? normal_ : urgent_;
      const std::size_t number = queue.front();
      queue.pop_front();
      free_--;
      // Entries of a map stay in place, and only finished ones are erased.
      Entry& entry = entries_.at(number);
      if (!entry.begun) {
        entry.begun = true;
        entry.outcome.start = entry.outcome.end = secondsNow();
      }
      bool last = entry.outcome.cancelled;
      if (!last) {
        guard.unlock();
        try {
          last = step_(*entry.job, entry.outcome);
        } catch (const std::exception& error) {
          entry.outcome.error = error.what();
          last = true;
        }
        guard.lock();
        entry.outcome.end = secondsNow();
      }
      free_++;
      if (!last) {
        queue.push_front(number);
        continue;
      }
      entry.finished = true;
      entry.job.reset();
      const auto callback = std::exchange(entry.callback, nullptr);
      changed_.notify_all();
      if (!callback) continue;
      guard.unlock();
      callback();
      guard.lock();
    }
  }

  Step step_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  /** Numbers of unfinished jobs, in the order in which they are done. */
  std::deque<std::size_t> urgent_;
  std::deque<std::size_t> normal_;
  std::size_t nextNumber_ = 1;
  /** Threads that do no job. */
  std::size_t free_ = 0;
  bool stopping_ = false;
  std::vector<std::atomic<int>> systemThreads_;
  /** Last, so that everything else exists when they start. */
  std::vector<std::thread> threads_;
};

}  // namespace hearth
