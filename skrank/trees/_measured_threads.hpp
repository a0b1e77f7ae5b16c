// How many threads grow a tree, by the time that trees take.
//
// `skrank._core._threads.n_threads_for` asks whether work is large enough for threads.
// This is another question: whether the threads get processors to run on.
#pragma once

#include <omp.h>

#include <algorithm>

namespace skrank {

// Where other programs use the processors, too, threads wait for each other at every
// split. A tree that takes longer than it would with one thread is finished by one thread,
// and so are the next few trees, more of them each time that several threads fail again.
class MeasuredThreads {
   public:
    // Threads to begin a tree with; ``guess`` is about what one thread needs for it.
    int start(int n_threads, double guess) {
        started = omp_get_wtime();
        gave_up = false;
        limit = 2.0 * (seconds_alone > 0.0 ? seconds_alone : guess);
        return alone > 0 ? 1 : n_threads;
    }

    // Threads to go on with.
    int check(int n_threads) {
        if (n_threads == 1 || omp_get_wtime() - started < limit) return n_threads;
        gave_up = true;
        return 1;
    }

    void stop() {
        if (gave_up) {
            alone = rest;
            rest = std::min(2 * rest, MANY_TREES);
        } else if (alone > 0) {
            alone--;
            seconds_alone = omp_get_wtime() - started;
        } else {
            rest = FEW_TREES;
        }
    }

   private:
    static constexpr int FEW_TREES = 8, MANY_TREES = 256;
    int alone = 0, rest = FEW_TREES;  // trees to grow by one thread, now and the next time
    double seconds_alone = 0.0;       // that the last of them took
    double started = 0.0, limit = 0.0;
    bool gave_up = false;
};

}  // namespace skrank
