// How many threads a loop gets, and how it is stopped before its end.
//
// Every loop on several threads asks `team_size`, and is watched by the thread that called
// it, so that a forked process does not wait for threads that it does not have, a machine
// without room for threads costs time only, and Ctrl-C is answered at once.
#pragma once

#include <omp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace skrank {

using Index = std::ptrdiff_t;

// Whether this process was forked after the module was loaded. OpenMP of GNU goes on to
// count on its threads, which do not live on in a forked process, and waits for ever.
static bool forked = false;
static const int watches_forks =
    pthread_atfork(nullptr, nullptr, [] { forked = true; });

// The threads, of `team`, that can be started. OpenMP ends the process where it cannot
// start one, so that the first team of a thread is tried out. Its stacks are used again.
inline int startable(int team) {
    thread_local int proven = 1;
    if (team <= proven) return team;
    std::mutex gate;
    std::vector<std::thread> trial;
    trial.reserve(team);
    {
        const std::lock_guard<std::mutex> closed(gate);
        try {
            for (int t = 1; t < team; t++)
                trial.emplace_back([&gate] { std::lock_guard<std::mutex> wait(gate); });
        } catch (const std::exception &) {
            // As many as there are.
        }
    }
    for (std::thread &thread : trial) thread.join();
    return proven = static_cast<int>(trial.size()) + 1;
}

// The number of threads for a loop that was promised `n_threads`, at least 1.
inline int team_size(int n_threads) {
    return n_threads <= 1 || forked ? 1 : startable(n_threads);
}

// Thrown where a loop is given up. Python's own exception has been set by then.
struct Interrupted : std::exception {
    const char *what() const noexcept override { return "interrupted"; }
};

// Runs the handlers of signals that have arrived; true if one of them raised an exception.
//
// Python runs them in its first thread only. Other threads need not ask; they must not,
// because the lock of an interpreter that ends is never given to them again.
inline bool signal_raises() {
#ifdef Py_PYTHON_H
    if (syscall(SYS_gettid) != getpid()) return false;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return raised;
#else
    return false;
#endif
}

// What the threads of one loop know of each other: whether to stop, and who is done.
class Watch {
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds PERIOD{100};
    // A thread that waits sleeps after this time; before, others would wake it too late.
    static constexpr std::chrono::microseconds PATIENCE{200};

    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex mutex;  // of `failure` and `n_left`
    std::condition_variable left;
    std::atomic<int> n_left{0};
    Clock::time_point next = Clock::now() + PERIOD;

    void look_at(Clock::time_point now) {
        if (now < next || stopped()) return;
        if (signal_raises()) {
            fail(std::make_exception_ptr(Interrupted()));
        }
        next = Clock::now() + PERIOD;
    }

   public:
    bool stopped() const { return stop.load(std::memory_order_relaxed); }

    // Looks for signals now and then. Only the calling thread may do it.
    void look() { look_at(Clock::now()); }

    // Stops the loop; its first failure is thrown at the end.
    void fail(std::exception_ptr what) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = what;
        stop.store(true, std::memory_order_relaxed);
    }

    // A thread other than the calling one is done.
    void leave() {
        const std::lock_guard<std::mutex> lock(mutex);
        n_left++;
        left.notify_one();
    }

    // Waits, as the calling thread, until `others` are done.
    void wait_for(int others) {
        const Clock::time_point start = Clock::now();
        while (n_left.load() < others) {
            const Clock::time_point now = Clock::now();
            look_at(now);
            if (now - start < PATIENCE) {
                std::this_thread::yield();
                continue;
            }
            std::unique_lock<std::mutex> lock(mutex);
            left.wait_for(lock, PERIOD, [&] { return n_left.load() >= others; });
        }
    }

    // To be called after the end of the loop.
    void finish() const {
        if (failure) std::rethrow_exception(failure);
    }
};

// A function object that a loop calls. The loop knows of it what it is called with, no more,
// so that it is compiled once in a module, and not once for every kernel. One call should
// be much work. It must not outlive the object.
template <class... Arguments>
class Callback {
    const void *object;
    void (*caller)(const void *, Arguments...);

   public:
    template <class Function>
    Callback(const Function &function)
        : object(&function), caller([](const void *function, Arguments... arguments) {
              (*static_cast<const Function *>(function))(arguments...);
          }) {}

    void operator()(Arguments... arguments) const { caller(object, arguments...); }
};

// Calls work(t) on each thread t of a team; thread 0 is the calling one.
//
// An exception must not leave a parallel region: what is thrown is kept by the watch, and
// thrown again after its end.
inline void run_team(int team, Watch &watch, Callback<int> work) {
    const auto guarded = [&](int t) {
        try {
            work(t);
        } catch (...) {
            watch.fail(std::current_exception());
        }
    };
    if (team == 1) {
        guarded(0);
    } else {
#pragma omp parallel num_threads(team)
        {
            const int t = omp_get_thread_num();
            guarded(t);
            if (t > 0) {
                watch.leave();
            } else {
                watch.wait_for(omp_get_num_threads() - 1);
            }
        }
    }
    watch.finish();
}

}  // namespace skrank
