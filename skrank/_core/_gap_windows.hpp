// Sums over pairs of documents that are polynomials of the gap of a pair, piece by piece.
//
// The gap of a pair is margin - (x[better] - x[worse]). Where documents are visited by
// score, those that form a pair with the visited one whose gap lies in a given window
// follow each other, and the window only ever moves on. What is in it is kept in moments
// about a score of its own. Nothing is subtracted from a sum, and all that is added has
// one sign, so that no digits are lost, however much the scores differ.
#pragma once

#include "_simd.hpp"

namespace skrank {

// Sums of the weights of documents, and of their weighted distances and squared distances
// from some point.
struct Totals {
    double of[3] = {};
};

// The same about the lowest of the scores; Powers says up to which power.
struct Moments {
    double origin, weight, first, second;

    template <int Powers>
    void add(bool is_first, double w, double x) {
        if (is_first) {
            *this = {x, w, 0.0, 0.0};
            return;
        }
        if (Powers > 0) {
            // One of them is 0; a branch would often be mispredicted.
            const double d = x - origin, down = d < 0.0 ? -d : 0.0, up = d < 0.0 ? 0.0 : d;
            const double moved = weight * down;
            if (Powers > 1) second += (first + first + moved) * down + w * up * up;
            first += moved + w * up;
            origin = d < 0.0 ? x : origin;
        }
        weight += w;
    }

    // Adds the sums about a point which lies `distance` from the origin, on the side where
    // no documents are.
    template <int Powers>
    void read(double distance, Totals *totals) const {
        totals->of[0] += weight;
        if (Powers == 0) return;
        const double sum = weight * distance + first;
        totals->of[1] += sum;
        if (Powers > 1) totals->of[2] += distance * (sum + first) + second;
    }
};

// Moments of the documents of slots 0 ... n - 1, to be read for all slots below one of
// them: O(log n) to extend and to read, O(1) to empty.
class LevelSums {
    Moments *nodes;
    int *epochs;  // those of the documents that nodes hold
    int n, now = 1;

  public:
    // In doubles, for each slot and one more.
    static constexpr int ROOM = sizeof(Moments) / sizeof(double) + 1;

    LevelSums(double *memory, int n_slots)
        : nodes(reinterpret_cast<Moments *>(memory)),
          epochs(reinterpret_cast<int *>(nodes + n_slots + 1)),
          n(n_slots) {
        std::fill(epochs, epochs + n + 1, 0);
    }
    void clear() { now++; }
    template <int Powers>
    void add(int slot, double weight, double x) {
        for (int i = slot + 1; i <= n; i += i & -i) {
            nodes[i].add<Powers>(epochs[i] != now, weight, x);
            epochs[i] = now;
        }
    }
    template <int Powers, class Distance>
    Totals below(int slot, const Distance &distance_of_origin) const {
        Totals totals;
        for (int i = slot; i > 0; i -= i & -i) {
            const Moments &node = nodes[i];
            if (epochs[i] != now) continue;
            const double distance = Powers > 0 ? distance_of_origin(node.origin) : 0.0;
            node.read<Powers>(distance, &totals);
        }
        return totals;
    }
};

// The same where there is one slot, which is always read.
class SumsOfAll {
    Moments node;
    bool empty = true;

  public:
    void clear() { empty = true; }
    template <int Powers>
    void add(int, double weight, double x) {
        node.add<Powers>(empty, weight, x);
        empty = false;
    }
    template <int Powers, class Distance>
    Totals below(int, const Distance &distance_of_origin) const {
        Totals totals;
        if (!empty) node.read<Powers>(distance_of_origin(node.origin), &totals);
        return totals;
    }
};

// Documents by descending score.
struct Documents {
    double *x, *weight;  // weights may be null, for ones
    int *slot, *place;   // slots may be null; the place is that of the gradient
    int size;

    int slot_of(int r) const { return slot ? slot[r] : 0; }
    double weight_of(int r) const { return weight ? weight[r] : 1.0; }

    // Seen from the other end, with the sign of the scores changed.
    void turn(int n_slots) {
        std::reverse(x, x + size);
        for (int r = 0; r < size; r++) x[r] = -x[r];
        std::reverse(place, place + size);
        if (weight) std::reverse(weight, weight + size);
        if (!slot) return;
        std::reverse(slot, slot + size);
        for (int r = 0; r < size; r++) slot[r] = n_slots - 1 - slot[r];
    }
};

// Gaps above `enter` up to those by which `base` is exceeded by `length`. A gap between
// them costs scale * distance^power; the distance is that from `origin` in a rising window,
// and in a falling one that from its end.
struct Window {
    double enter, base, length, origin, scale;

    bool ends() const { return base + length < INFINITE; }
};

// Calls visit(v, totals) for the visited documents with the sums of the gathered ones that
// lie in the window, and in a slot below that of v. `begins` has room for a number for each
// visited document.
//
// The window is cut where it ended at some document. Later documents add to what follows
// the cut, without leaving it; what precedes the cut only loses documents, so that it is
// gathered from the cut back, for the visited documents from the last to the first. As soon
// as the window has left the cut behind, there is a new one.
template <int Powers, bool Falling, class Sums, class Visit>
void sweep(double margin, const Window &window, const Documents &gathered,
           const Documents &visited, Sums &sums, int *begins, const Visit &visit) {
    const double *x = gathered.x;
    const auto gap_of = [=](double other, double own) { return (other - own) + margin; };
    const auto add = [&](int k) {
        sums.template add<Powers>(gathered.slot_of(k), gathered.weight_of(k),
                                  Falling ? -x[k] : x[k]);
    };
    const auto call = [&](int v) {
        const double own = visited.x[v];
        const auto distance = [=](double origin) {
            const double gap = gap_of(Falling ? -origin : origin, own);
            return Falling ? window.length - (gap - window.base) : gap - window.origin;
        };
        visit(v, sums.template below<Powers>(visited.slot_of(v), distance));
    };
    int begin = 0, end = 0;
    const auto enters = [&](int v) {
        return end < gathered.size && gap_of(x[end], visited.x[v]) > window.enter;
    };
    const auto move_begin = [&](int v) {
        while (begin < gathered.size &&
               gap_of(x[begin], visited.x[v]) - window.base > window.length)
            begin++;
    };
    for (int v = 0; v < visited.size;) {
        const int first = v;
        while (window.ends() && enters(v)) end++;
        const int cut = end;
        sums.clear();
        for (; v < visited.size; v++) {
            if (window.ends()) move_begin(v);
            if (begin > cut) break;
            begins[v] = begin;
            while (enters(v)) add(end++);
            if (end > cut) call(v);
        }
        if (begins[first] == cut) continue;
        sums.clear();
        for (int u = v - 1, next = cut; u >= first; u--) {
            while (next > begins[u]) add(--next);
            if (next < cut) call(u);
        }
    }
}

// Adds the slopes of the visited documents of windows, which are the preferred ones of
// their pairs or the other ones, and for the former the losses.
template <bool Preferred, class Sums>
struct Side {
    double margin;
    Documents gathered, visited;
    Sums &sums;
    int *begins;
    double *grad, *hess;  // hess, which only squares have, may be null
    double loss = 0.0;

    template <int Power, bool Falling = false>
    void add(const Window &window) {
        if (!Preferred && Power == 0) return;
        constexpr int less = Power > 0 ? Power - 1 : 0;
        const double scale = window.scale;
        // Slopes are those in the score of the visited document.
        const double steep = Preferred == Falling ? Power * scale : -Power * scale;
        sweep<Preferred ? Power : less, Falling>(
            margin, window, gathered, visited, sums, begins,
            [&](int v, const Totals &totals) {
                const double w = visited.weight_of(v);
                if (Preferred) loss += w * scale * totals.of[Power];
                if (Power > 0) grad[visited.place[v]] += w * steep * totals.of[less];
                if (Power > 1 && hess)
                    hess[visited.place[v]] += 2.0 * w * scale * totals.of[0];
            });
    }
};

// f(gap) - f(gap - cap), where f is the positive part, with a parabola of length `width`
// in place of the kink; or the square of the positive part, which has neither.
//
// The slope climbs to `steep` over the length `rise`, stays there up to the gap `top`, and
// falls as it has climbed. At kinks it is that on the side of the smaller gap.
struct Hinge {
    double margin, cap, width, rise, top, steep;
    bool squared;

    Hinge(double margin, bool squared, double cap = INFINITE, double width = 0.0)
        : margin(margin), cap(cap), width(width), squared(squared) {
        // No score is told from the next one within a width without an inverse.
        if (1.0 / this->width == INFINITE) this->width = 0.0;
        rise = std::min(this->width, cap);
        top = std::max(this->width, cap);
        steep = rise < this->width ? cap / this->width : 1.0;
    }

    template <class Side>
    void add_windows(Side &side) const {
        if (squared) {
            side.template add<2>({0.0, 0.0, INFINITE, 0.0, 1.0});
            return;
        }
        if (rise > 0.0) side.template add<2>({0.0, 0.0, rise, 0.0, 0.5 / width});
        if (rise < top) side.template add<1>({rise, top, 0.0, 0.5 * rise, steep});
        if (top == INFINITE) return;
        side.template add<0>({top, top, INFINITE, 0.0, cap});
        if (rise > 0.0) side.template add<2, true>({top, top, rise, 0.0, -0.5 / width});
    }
};

// Losses and slopes of the pairs of `better` with the documents of `worse` in lower slots.
// Both are turned in the end; they may share arrays other than their weights.
template <class Sums>
double add_pairs(const Hinge &hinge, Documents better, Documents worse, int n_slots,
                 Sums &sums, int *begins, double *grad, double *hess = nullptr) {
    Side<true, Sums> preferred{hinge.margin, worse, better, sums, begins, grad, hess};
    hinge.add_windows(preferred);
    better.turn(n_slots);
    if (worse.x != better.x) worse.turn(n_slots);
    Side<false, Sums> others{hinge.margin, better, worse, sums, begins, grad, hess};
    hinge.add_windows(others);
    return preferred.loss;
}

}  // namespace skrank
