#include "../../../native/threads/job_thread.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>

/** The job thread's promises, each on jobs that log their steps. Prints the first that doesn't hold, and exits with 1. */
using namespace hearth;

namespace {

/** Holds a job up in its first step. */
struct Gate {
  std::promise<void> reached;
  std::promise<void> opened;
};

struct Job {
  char name;
  int steps;
  Gate* gate = nullptr;
};

using Jobs = JobThread<Job, JobOutcome>;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("%s\n", what.c_str());
  std::exit(1);
}

/** Logs a job's name at each step; waits at its gate in the first; fails at the first step of '!'. */
Jobs::Step logging(std::string& log) {
  return [&log](Job& job, JobOutcome&) {
    if (Gate* gate = std::exchange(job.gate, nullptr)) {
      gate->reached.set_value();
      gate->opened.get_future().wait();
    }
    log += job.name;
    if (job.name == '!') throw std::runtime_error("failed");
    return --job.steps == 0;
  };
}

void ordersByPriorityThenSubmission() {
  std::string log;
  Gate gate;
  Jobs jobs(logging(log));
  jobs.submit({'a', 2, &gate}, Priority::Normal);
  gate.reached.get_future().wait();
  const auto b = jobs.submit({'b', 1}, Priority::Normal);
  jobs.submit({'X', 2}, Priority::Urgent);
  const auto y = jobs.submit({'Y', 1}, Priority::Urgent);
  require(!jobs.poll(y).has_value(), "a job that hasn't ended has no outcome");
  gate.opened.set_value();
  jobs.wait(b);
  require(log == "aXXYab", "urgent jobs go between the steps of others, each priority in order: " + log);
  require(jobs.poll(y).has_value(), "a job that has ended has an outcome");
  try {
    jobs.wait(y);
    require(false, "an outcome is given once");
  } catch (const std::invalid_argument&) {
  }
}

std::size_t started(const Jobs& jobs) {
  const auto threads = jobs.systemThreads();
  return threads.size() - static_cast<std::size_t>(std::count(threads.begin(), threads.end(), 0));
}

void startsThreadsWithTheJobsThatNeedThem() {
  std::string log;
  Gate one;
  Gate two;
  Jobs jobs(logging(log), 3);
  require(started(jobs) == 0, "without jobs there are no threads");
  jobs.wait(jobs.submit({'a', 1}, Priority::Normal));
  const auto first = jobs.submit({'b', 1, &one}, Priority::Normal);
  one.reached.get_future().wait();
  require(started(jobs) == 1, "a thread that is free does the next job");
  const auto second = jobs.submit({'c', 1, &two}, Priority::Normal);
  two.reached.get_future().wait();
  require(started(jobs) == 2, "a job for which no thread is free gets one");
  one.opened.set_value();
  two.opened.set_value();
  jobs.wait(first);
  jobs.wait(second);
}

void reportsErrorsAndCancellation() {
  std::string log;
  Gate gate;
  Jobs jobs(logging(log));
  const auto a = jobs.submit({'a', 9, &gate}, Priority::Normal);
  gate.reached.get_future().wait();
  const auto b = jobs.submit({'b', 9}, Priority::Normal);
  const auto failing = jobs.submit({'!', 9}, Priority::Normal);
  jobs.cancel(a);
  jobs.cancel(b);
  gate.opened.set_value();
  const JobOutcome failed = jobs.wait(failing);
  require(failed.error == "failed" && !failed.cancelled, "an exception ends the job with its message");
  require(failed.end >= failed.start && failed.start > 0, "an outcome has times");
  require(jobs.wait(a).cancelled && jobs.wait(b).cancelled, "a cancelled job says so");
  require(log == "a!", "a cancelled job ends after its current step: " + log);
}

void callsBackOnceDoneOrDestroyed() {
  std::string log;
  std::promise<void> called;
  int abandoned = 0;
  {
    Jobs jobs(logging(log));
    const auto a = jobs.submit({'a', 1}, Priority::Normal);
    jobs.whenDone(a, [&called] { called.set_value(); });
    called.get_future().wait();
    const auto b = jobs.submit({'b', 1000000000}, Priority::Normal);
    jobs.whenDone(b, [&abandoned] { abandoned++; });
  }
  require(abandoned == 1, "destroying the thread calls back for what it abandons, once");
}

}  // namespace

int main() {
  ordersByPriorityThenSubmission();
  startsThreadsWithTheJobsThatNeedThem();
  reportsErrorsAndCancellation();
  callsBackOnceDoneOrDestroyed();
}
