/**
 * Threads share a file for KV caches: each writes caches of its own to its own places and reads them back into others,
 * waiting or polling. Half of the files have pages that direct transfers take, half don't. A job that is never awaited
 * is left to the destructor. Prints the number of caches, and exits with 1 after a wrong byte.
 */
#include "../../../native/memory/cache_file.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

using namespace hearth;

namespace {

constexpr int threads = 4;
std::atomic<bool> wrong{false};

void wait(CacheFile& file, std::size_t job, bool polls) {
  if (!polls) {
    if (!file.wait(job).error.empty()) wrong = true;
    return;
  }
  for (;;) {
    const auto outcome = file.poll(job);
    if (!outcome) {
      std::this_thread::yield();
      continue;
    }
    if (!outcome->error.empty()) wrong = true;
    return;
  }
}

void use(CacheFile& file, std::size_t bytes, int thread, long rounds) {
  const auto place = static_cast<std::size_t>(thread);
  for (long round = 0; round < rounds; round++) {
    const int value = static_cast<int>((7 * round + thread) % 251);
    const auto written = std::make_shared<CacheMemory>(bytes);
    std::memset(written->keys.data(), value, bytes);
    std::memset(written->values.data(), value + 1, bytes);
    wait(file, file.submit({true, written, place}), round % 2 == 0);
    const auto read = std::make_shared<CacheMemory>(bytes);
    wait(file, file.submit({false, read, place}), round % 3 == 0);
    if (std::memcmp(read->keys.data(), written->keys.data(), bytes) != 0) wrong = true;
    if (std::memcmp(read->values.data(), written->values.data(), bytes) != 0) wrong = true;
  }
  // Nobody waits for this one.
  file.submit({true, std::make_shared<CacheMemory>(bytes), place});
}

}  // namespace

int main(int count, char** arguments) {
  const long rounds = (count > 1 ? std::atol(arguments[1]) : 1000) / 2;
  const char* folder = std::getenv("HEARTH_STRESS_FOLDER");
  for (const std::size_t bytes : {std::size_t{8192}, std::size_t{1000}}) {
    CacheFile file(folder == nullptr ? "." : folder, bytes);
    std::vector<std::thread> users;
    for (int thread = 0; thread < threads; thread++) {
      users.emplace_back([&file, bytes, thread, rounds] { use(file, bytes, thread, rounds); });
    }
    for (auto& user : users) user.join();
  }
  if (wrong) {
    std::printf("a cache was read back with other bytes, or a transfer failed\n");
    return 1;
  }
  std::printf("%d threads: %ld caches written and read\n", threads, 2 * rounds * threads);
  return 0;
}
