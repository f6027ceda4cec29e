#include "loop_watch.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace hearth {
namespace {

/** Between two samples. */
constexpr std::chrono::milliseconds period{250};

/**
 * The share of a processor from which on a process computes. What goes on without the watched thread, heartbeats of
 * connections and this watch, takes less than 0.1 %; a thread that computes at the lowest priority of a busy machine
 * gets 1 % and more (Linux: weight 15 of 1024 + 15 at nice 19).
 */
constexpr double computingShare = 0.005;

double secondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

bool isConnectedTcp(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  sockaddr_storage peer{};
  size = sizeof peer;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  return peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
}

}  // namespace

ProcessUse processUse() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) throw std::system_error(errno, std::generic_category(), "getrusage");
  return {secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime),
          static_cast<std::uint64_t>(usage.ru_majflt) + static_cast<std::uint64_t>(usage.ru_inblock)};
}

double Stillness::sample(std::uint64_t turns, const ProcessUse& use, double seconds) {
  // Compared with the last time that something moved, so that little by little counts too.
  const bool computes = use.processorSeconds - use_.processorSeconds > computingShare * (still_ + seconds);
  if (turns != turns_ || use.reads != use_.reads || computes) {
    turns_ = turns;
    use_ = use;
    still_ = 0;
  } else {
    still_ += seconds;
  }
  return still_;
}

void cutConnections() noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 16));
  for (int descriptor = 0; descriptor < end; descriptor++) {
    if (isConnectedTcp(descriptor)) shutdown(descriptor, SHUT_RDWR);
  }
}

LoopWatch::LoopWatch(double seconds, std::function<void()> onStill)
    : seconds_(seconds), onStill_(std::move(onStill)), thread_([this] { serve(); }) {}

LoopWatch::~LoopWatch() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void LoopWatch::serve() {
  Stillness stillness;
  bool called = false;
  std::unique_lock guard(mutex_);
  // A sample stands for one period however late it is: while the whole process is stopped, nothing hangs.
  while (!stop_.wait_for(guard, period, [this] { return stopping_; })) {
    const double still = stillness.sample(turns_.load(std::memory_order_relaxed), processUse(),
                                          std::chrono::duration<double>(period).count());
    if (still == 0) called = false;
    if (still < seconds_ || called) continue;
    called = true;
    onStill_();
  }
}

}  // namespace hearth
