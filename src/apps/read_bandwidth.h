#pragma once

#include "base/thread_pool.h"

namespace lattice::apps {

/// Bytes a second that the pool's threads read from memory together: the limit of decoding, which
/// reads every weight once a token. The best of a few passes over a buffer larger than the caches;
/// takes about half a second.
double MeasureReadBandwidth(ThreadPool& pool);

}  // namespace lattice::apps
