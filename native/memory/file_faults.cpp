#include "file_faults.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>

namespace hearth {
namespace {

/** A process maps a model or two, tests some dozens. */
constexpr std::size_t mostMappings = 1024;

/** Guarded memory; the signal handler reads it while other threads add and remove mappings. */
struct Guarded {
  /** 0: the place is free. Written last, so that a handler that reads it sees `bytes` too. */
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> faulted{false};
};

std::array<Guarded, mostMappings> table;
std::mutex tableMutex;
struct sigaction previous {};
std::size_t page = 4096;

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/**
 * Replaces the rest of the mapping, from the page of the fault on, by zeros, and returns to the load. It runs on the
 * thread that loads, in the midst of arithmetic that holds no lock, and calls nothing but mmap, which is a bare system
 * call. Other faults get the action that was there before.
 */
void onBusError(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Guarded& guarded : table) {
    const std::uintptr_t begin = guarded.begin.load(std::memory_order_acquire);
    const std::size_t bytes = guarded.bytes.load(std::memory_order_relaxed);
    if (begin == 0 || address < begin || address - begin >= bytes) continue;
    guarded.faulted.store(true, std::memory_order_release);
    const std::uintptr_t from = address / page * page;
    void* zeros = mmap(reinterpret_cast<void*>(from), begin + bytes - from, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros != MAP_FAILED) return;
  }
  sigaction(SIGBUS, &previous, nullptr);  // the load is repeated, and meets the previous action
}

void install() {
  page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

}  // namespace

FaultGuard::FaultGuard(std::span<const std::uint8_t> memory) : place_(0) {
  static std::once_flag installed;
  std::call_once(installed, install);
  const std::lock_guard guard(tableMutex);
  while (place_ < table.size() && table[place_].begin.load() != 0) place_++;
  if (place_ == table.size()) throw std::length_error("too many files are mapped");
  table[place_].faulted.store(false);
  table[place_].bytes.store(memory.size());
  table[place_].begin.store(reinterpret_cast<std::uintptr_t>(memory.data()), std::memory_order_release);
}

FaultGuard::~FaultGuard() {
  const std::lock_guard guard(tableMutex);
  table[place_].begin.store(0);
}

bool FaultGuard::happened() const noexcept { return table[place_].faulted.load(std::memory_order_acquire); }

}  // namespace hearth
