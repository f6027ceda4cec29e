#pragma once
/** `unpack<T>` for every quantized format. */
#include "i_quants.hpp"
#include "k_quants.hpp"
#include "lattice_quants.hpp"
#include "legacy_quants.hpp"
#include "ternary_quants.hpp"
