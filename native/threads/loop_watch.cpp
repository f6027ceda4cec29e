#include "loop_watch.hpp"

#ifdef __APPLE__
#include <mach/mach.h>
#endif
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

namespace hearth {
namespace {

/** Between two samples. */
constexpr std::chrono::milliseconds period{250};

/**
 * The share of a processor from which on a thread computes. One that waits uses none; one that computes at the lowest
 * priority of a busy machine gets 1 % and more (Linux: weight 15 of 1024 + 15 at nice 19).
 */
constexpr double computingShare = 0.005;

bool isConnectedTcp(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  sockaddr_storage peer{};
  size = sizeof peer;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  return peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
}

/** Throws std::system_error where the operating system doesn't say. */
double processorSeconds(pthread_t thread) {
#ifdef __APPLE__
  thread_basic_info_data_t info{};
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  if (thread_info(pthread_mach_thread_np(thread), THREAD_BASIC_INFO, reinterpret_cast<thread_info_t>(&info), &count) !=
      KERN_SUCCESS)
    throw std::system_error(ESRCH, std::generic_category(), "thread_info");
  return info.user_time.seconds + info.system_time.seconds +
         (info.user_time.microseconds + info.system_time.microseconds) / 1e6;
#else
  clockid_t clock{};
  timespec time{};
  const int error = pthread_getcpuclockid(thread, &clock);
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_getcpuclockid");
  if (clock_gettime(clock, &time) != 0) throw std::system_error(errno, std::generic_category(), "clock_gettime");
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
#endif
}

ThreadUse useOf(pthread_t thread) {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) throw std::system_error(errno, std::generic_category(), "getrusage");
  return {processorSeconds(thread),
          static_cast<std::uint64_t>(usage.ru_majflt) + static_cast<std::uint64_t>(usage.ru_inblock)};
}

}  // namespace

double Stillness::sample(std::uint64_t turns, const ThreadUse& use, double seconds) {
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
    const double still = stillness.sample(turns_.load(std::memory_order_relaxed), useOf(watched_),
                                          std::chrono::duration<double>(period).count());
    if (still == 0) called = false;
    if (still < seconds_ || called) continue;
    called = true;
    onStill_();
  }
}

}  // namespace hearth
