#pragma once
#include <string>

namespace hearth {

/**
 * Sends what this process writes to stderr to a file instead, at its end. Returns a descriptor of stderr as it was, for
 * `restoreStandardError`. Throws std::system_error if the operating system refuses.
 */
int divertStandardError(const std::string& path);

/** Undoes a diversion; closes `saved`. */
void restoreStandardError(int saved);

}  // namespace hearth
