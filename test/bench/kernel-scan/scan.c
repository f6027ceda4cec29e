// The first and only program of an emulated machine: scans a part of its disk again and again, by each way of reading and
// both reclaim policies, and prints what the kernel counted. The kernel passes `percents` and `ways` in the environment.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCANS = 6, WINDOW = 4 << 20, READ_AHEAD = 128 << 10, PAGE = 4096, POPULATE_READ = 22 };

static const char DISK[] = "/dev/nvme0n1";
static const char GENERATIONS[] = "/sys/kernel/mm/lru_gen/enabled";

/** The number behind a key of a file such as /proc/vmstat, or −1. */
static long count_of(const char *path, const char *key) {
  char line[128];
  long value = -1;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, key, strlen(key)) && strchr(" :", line[strlen(key)])) value = atol(line + strlen(key) + 1);
  if (file) fclose(file);
  return value;
}

static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) < 0) perror(path);
  if (file >= 0) close(file);
}

/** Reads every page once, window by window. */
static void scan(const char *map, long bytes, const char *way) {
  volatile unsigned char sum = 0;
  for (long window = 0; window < bytes; window += WINDOW) {
    char *begin = (char *)map + window;
    if (!strcmp(way, "populate")) madvise(begin, WINDOW, POPULATE_READ);
    if (!strcmp(way, "willneed"))
      for (long at = 0; at < WINDOW; at += READ_AHEAD) madvise(begin + at, READ_AHEAD, MADV_WILLNEED);
    for (long at = 0; at < WINDOW; at += PAGE) sum += begin[at];
  }
}

static void measure(int disk, long available, const char *way, int percent, const char *enabled) {
  long bytes = available * 1024 / 100 * percent / WINDOW * WINDOW;
  put(GENERATIONS, enabled);
  put("/proc/sys/vm/drop_caches", "3");
  char *map = mmap(0, bytes, PROT_READ, MAP_SHARED, disk, 0);
  if (map == MAP_FAILED) {
    perror(DISK);
    return;
  }
  for (int token = 0; token < SCANS; token++) {
    long read = count_of("/proc/vmstat", "pgpgin");
    long refaulted = count_of("/proc/vmstat", "workingset_refault_file");
    scan(map, bytes, way);
    read = count_of("/proc/vmstat", "pgpgin") - read;
    refaulted = count_of("/proc/vmstat", "workingset_refault_file") - refaulted;
    printf("SCAN %s,%s,%ld,%d,%ld,%ld\n", way, *enabled == '0' ? "linux-two-list" : "mglru", bytes / 1024, token, read,
           refaulted);
  }
  munmap(map, bytes);
}

int main(void) {
  mkdir("/proc", 0755);
  mkdir("/sys", 0755);
  mkdir("/dev", 0755);
  mount("proc", "/proc", "proc", 0, 0);
  mount("sysfs", "/sys", "sysfs", 0, 0);
  mount("dev", "/dev", "devtmpfs", 0, 0);
  int console = open("/dev/console", O_RDWR);
  dup2(console, 1);
  dup2(console, 2);
  setvbuf(stdout, 0, _IOLBF, 0);
  put("/sys/block/nvme0n1/queue/read_ahead_kb", "128");
  long available = count_of("/proc/meminfo", "MemAvailable");
  printf("SCAN available %ld\n", available);
  int disk = open(DISK, O_RDONLY);
  char *ways = strdup(getenv("ways")), *ways_left;
  for (char *way = strtok_r(ways, ",", &ways_left); disk >= 0 && way; way = strtok_r(0, ",", &ways_left)) {
    char *percents = strdup(getenv("percents")), *left;
    for (char *percent = strtok_r(percents, ",", &left); percent; percent = strtok_r(0, ",", &left)) {
      measure(disk, available, way, atoi(percent), "0");
      measure(disk, available, way, atoi(percent), "7");
    }
    free(percents);
  }
  printf("SCAN end\n");
  sync();
  reboot(RB_POWER_OFF);
}
