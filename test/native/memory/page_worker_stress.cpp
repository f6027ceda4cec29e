/**
 * Threads share workers on the pages of one file: they submit jobs of every kind, wait for them, poll them, cancel them
 * or are called back, and compare what Read brings with the mapping. Workers are destroyed with jobs under way. Prints
 * the number of jobs, and exits with 1 after a wrong byte or an error.
 */
#include "../../../native/memory/page_worker.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace hearth;

namespace {

constexpr int threads = 4;
constexpr int workers = 4;
constexpr std::size_t page = 4096;
constexpr std::size_t pages = 2048;
std::atomic<bool> wrong{false};
std::atomic<long> called{0};

std::string writeFile() {
  const char* folder = std::getenv("HEARTH_STRESS_FOLDER");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/pages";
  std::ofstream out(path, std::ios::binary);
  for (std::size_t index = 0; index < pages; index++) {
    out << std::string(page, static_cast<char>(index % 251));
  }
  return path;
}

/** Two places for a range: its first bytes, not whole pages, and behind a gap the others. */
std::vector<ReadTarget> targetsOf(FileRange range) {
  const std::size_t bytes = range.to - range.from;
  const std::size_t first = bytes / 3 + 1;
  return {{std::make_shared<Buffer>(first), 0, first}, {std::make_shared<Buffer>(bytes), first, bytes - first}};
}

void checkRead(const std::vector<ReadTarget>& targets, FileRange range) {
  std::size_t at = range.from;
  for (const auto& [buffer, offset, bytes] : targets) {
    for (std::size_t index = 0; index < bytes; index += 509) {
      if (std::to_integer<int>(buffer->data()[offset + index]) != static_cast<int>((at + index) / page % 251)) wrong = true;
    }
    at += bytes;
  }
}

void end(PageWorker& worker, std::size_t job, long round) {
  if (round % 5 == 4) worker.cancel(job);
  if (round % 3 == 2) worker.whenDone(job, [] { called++; });
  if (round % 2 == 1) {
    while (!worker.poll(job)) std::this_thread::yield();
    return;
  }
  if (!worker.wait(job).error.empty()) wrong = true;
}

void use(PageWorker& worker, int thread, long rounds) {
  for (long round = 0; round < rounds; round++) {
    const std::size_t from = static_cast<std::size_t>((round * 37 + thread * 11) % 1024) * page;
    const FileRange range = {from, from + static_cast<std::size_t>(1 + round % 512) * page};
    const auto kind = static_cast<PageJobKind>(static_cast<std::size_t>(round) % pageJobCount);
    PageJob job{kind, range};
    if (kind == PageJobKind::Read) job.targets = targetsOf(range);
    const auto targets = job.targets;
    end(worker, worker.submit(std::move(job)), round);
    if (round % 5 != 4) checkRead(targets, range);
    if (kind == PageJobKind::Lock) worker.wait(worker.submit({PageJobKind::Unlock, range}));
  }
  // Nobody waits for these: the destructor ends them.
  worker.submit({PageJobKind::Populate, {0, pages * page}});
  worker.whenDone(worker.submit({PageJobKind::Drop, {0, pages * page}}), [] { called++; });
}

}  // namespace

int main(int count, char** arguments) {
  const long rounds = (count > 1 ? std::atol(arguments[1]) : 1000) / workers;
  const auto mapping = std::make_shared<const FileMapping>(writeFile());
  for (int number = 0; number < workers; number++) {
    PageWorker worker(mapping, {.threads = static_cast<std::size_t>(1 + number % 3)});
    std::vector<std::thread> users;
    for (int thread = 0; thread < threads; thread++) {
      users.emplace_back([&worker, thread, rounds] { use(worker, thread, rounds); });
    }
    for (auto& user : users) user.join();
  }
  if (wrong || called == 0) {
    std::printf("%s\n", wrong ? "wrong bytes, or an error" : "no call back");
    return 1;
  }
  std::printf("%d threads: %ld jobs, %d workers\n", threads, rounds * threads * workers, workers);
  return 0;
}
