#include "select.hpp"

#include <stdexcept>

#include "tables.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hearth {
namespace {

#if defined(__x86_64__) && defined(__linux__)
/**
 * Because tile registers are large, Linux requires a process to request them once (Documentation/arch/x86/xstate.rst).
 */
bool mayUseTiles() {
  constexpr int requestPermission = 0x1023;
  constexpr int tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}
/** CPUID leaf 7: tiles, and their products of bfloat16 and of bytes. */
bool hasAmx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned tiles = 1u << 24 | 1u << 25 | 1u << 22;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & tiles) == tiles && mayUseTiles();
}
#else
bool hasAmx() { return false; }
#endif

#if defined(__x86_64__)
/** CPUID leaf 7, second part. */
bool hasAvxVnni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 4) != 0;
}
bool hasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}
bool hasBf16() { return __builtin_cpu_supports("avx512bf16"); }
bool hasNeon() { return false; }
#elif defined(__aarch64__) && defined(__linux__)
bool hasAvxVnni() { return false; }
bool hasAvx2() { return false; }
bool hasAvx512() { return false; }
bool hasBf16() { return false; }
bool hasNeon() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
#else
bool hasAvxVnni() { return false; }
bool hasAvx2() { return false; }
bool hasAvx512() { return false; }
bool hasBf16() { return false; }
// Every Apple processor of this architecture that runs macOS has the dot product instructions.
bool hasNeon() { return true; }
#endif

}  // namespace

std::vector<const KernelTable*> availableTables() {
  std::vector<const KernelTable*> tables;
  const auto offer = [&tables](bool supported, const KernelTable* (*table)()) {
    if (supported && table() != nullptr) tables.push_back(table());
  };
  const bool tiles = hasAvx512() && hasBf16() && hasAmx();
  offer(tiles, amxTable);
  offer(tiles, amxInt8Table);
  offer(hasAvx512() && hasBf16(), avx512Bf16Table);
  offer(hasAvx512(), avx512Table);
  offer(hasAvx2() && hasAvxVnni(), avxVnniTable);
  offer(hasAvx2(), avx2Table);
  offer(hasNeon(), neonTable);
  offer(true, scalarTable);
  return tables;
}

const KernelTable& selectTable(std::string_view name) {
  std::string names;
  for (const KernelTable* table : availableTables()) {
    if (name == "auto" || name == table->name) return *table;
    names += (names.empty() ? "" : ", ") + std::string(table->name);
  }
  throw std::invalid_argument("instruction set \"" + std::string(name) + "\" is not available here; there are: auto, " +
                              names);
}

}  // namespace hearth
