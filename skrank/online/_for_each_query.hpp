// What Cython includes by this name for all who cimport `_core/_for_each_query.pxd`.
#pragma once

#include "../_core/_for_each_query.hpp"
