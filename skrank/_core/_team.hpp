// How many threads a loop gets, and how it is stopped before its end.
//
// Every loop on several threads asks `team_size`, and is watched by the thread that called
// it, so that a forked process does not wait for threads that it does not have, a machine
// without room for threads costs time only, and Ctrl-C is answered at once.
//
// Threads, locks and clocks are those of POSIX: the headers of the standard library for them
// take longer to compile than many a kernel, and every compiled module includes this one.
#pragma once

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace skrank {

using Index = std::ptrdiff_t;

// Whether this process was forked after the module was loaded. OpenMP of GNU goes on to
// count on its threads, which do not live on in a forked process, and waits for ever.
static bool forked = false;
static const int watches_forks =
    pthread_atfork(nullptr, nullptr, [] { forked = true; });

// A lock. Threads that wait for a signal under it look again after some time.
class Gate {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t signal;

   public:
    Gate() {
        pthread_condattr_t monotonic;  // no clock that somebody may set
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&signal, &monotonic);
        pthread_condattr_destroy(&monotonic);
    }
    ~Gate() {
        pthread_cond_destroy(&signal);
        pthread_mutex_destroy(&mutex);
    }
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

    void lock() { pthread_mutex_lock(&mutex); }
    void unlock() { pthread_mutex_unlock(&mutex); }
    void notify() { pthread_cond_signal(&signal); }

    // Waits for a signal, locked, until the monotonic clock shows `deadline` nanoseconds;
    // whether there is time left.
    bool wait_until(int64_t deadline) {
        const timespec end{static_cast<time_t>(deadline / 1000000000), deadline % 1000000000};
        return pthread_cond_timedwait(&signal, &mutex, &end) != ETIMEDOUT;
    }
};

// Closes a gate as long as it lives.
class Closed {
    Gate &gate;

   public:
    explicit Closed(Gate &gate) : gate(gate) { gate.lock(); }
    ~Closed() { gate.unlock(); }
    Closed(const Closed &) = delete;
    Closed &operator=(const Closed &) = delete;
};

// Nanoseconds on a clock that nobody sets.
inline int64_t monotonic_time() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// The threads, of `team`, that can be started. OpenMP ends the process where it cannot
// start one, so that the first team of a thread is tried out. Its stacks are used again.
inline int startable(int team) {
    thread_local int proven = 1;
    if (team <= proven) return team;
    Gate gate;
    std::vector<pthread_t> trial(team);
    int started = 1;  // with the calling one
    {
        const Closed closed(gate);
        const auto pass = [](void *gate) -> void * {
            const Closed wait(*static_cast<Gate *>(gate));
            return nullptr;
        };
        while (started < team &&
               pthread_create(&trial[started], nullptr, pass, &gate) == 0)
            started++;
    }
    for (int t = 1; t < started; t++) pthread_join(trial[t], nullptr);
    return proven = started;
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
    static constexpr int64_t PERIOD = 100000000;  // nanoseconds
    // A thread that waits sleeps after this time; before, others would wake it too late.
    static constexpr int64_t PATIENCE = 200000;

    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    Gate gate;  // of `failure` and `n_left`
    std::atomic<int> n_left{0};
    int64_t next = monotonic_time() + PERIOD;

    void look_at(int64_t now) {
        if (now < next || stopped()) return;
        if (signal_raises()) {
            fail(std::make_exception_ptr(Interrupted()));
        }
        next = monotonic_time() + PERIOD;
    }

   public:
    bool stopped() const { return stop.load(std::memory_order_relaxed); }

    // Looks for signals now and then. Only the calling thread may do it.
    void look() { look_at(monotonic_time()); }

    // Stops the loop; its first failure is thrown at the end.
    void fail(std::exception_ptr what) {
        const Closed closed(gate);
        if (!failure) failure = what;
        stop.store(true, std::memory_order_relaxed);
    }

    // A thread other than the calling one is done.
    void leave() {
        const Closed closed(gate);
        n_left++;
        gate.notify();
    }

    // Waits, as the calling thread, until `others` are done.
    void wait_for(int others) {
        const int64_t start = monotonic_time();
        while (n_left.load() < others) {
            const int64_t now = monotonic_time();
            look_at(now);
            if (now - start < PATIENCE) {
                sched_yield();
                continue;
            }
            const Closed closed(gate);
            while (n_left.load() < others && gate.wait_until(now + PERIOD)) {
            }
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
