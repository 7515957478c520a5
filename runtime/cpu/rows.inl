// What happens to one row: its points become a list of (pixel, weight) corners, and channels flow along that list.
// Included inside the namespace of kernels_*.cpp, after lanes.inl.

// Exponentials over the whole row, largest subtracted.
template <class C>
inline void softmax(C* v, std::int64_t count) {
    C largest = v[0];
    for (std::int64_t i = 1; i < count; i++) largest = v[i] > largest ? v[i] : largest;
    C total = 0;
    for (std::int64_t i = 0; i < count; i++) total += v[i] = std::exp(v[i] - largest);
    for (std::int64_t i = 0; i < count; i++) v[i] /= total;
}

// Turns offsets into locations; row.offset keeps the offsets.
template <class C>
inline void resolve_references(const Job& job, Row<C>& row, std::int64_t bq, std::size_t first, std::size_t last) {
    const Problem& problem = job.problem;
    const std::int64_t components = host::reference_components(problem),
                       base = bq * host::references_per_query(problem);
    for (std::size_t l = first; l < last; l++) {
        const host::Place& level = job.levels[l];
        for (std::int64_t p = 0; p < level.points; p++) {
            C reference[4] = {};
            const std::int64_t index = base + host::reference_of(problem, static_cast<std::int64_t>(l), p);
            read_row(problem.location, job.tensors.references, index * components, components, reference);
            C* xy = row.location.data() + 2 * (level.first_point + p);
            C* offset = row.offset.data() + 2 * (level.first_point + p);
            offset[0] = xy[0];
            offset[1] = xy[1];
            if (components == 4) {
                xy[0] = host::box_location_of(reference[0], reference[2], xy[0], level.points);
                xy[1] = host::box_location_of(reference[1], reference[3], xy[1], level.points);
            } else {
                xy[0] = host::location_of(reference[0], xy[0], level.width);
                xy[1] = host::location_of(reference[1], xy[1], level.height);
            }
        }
    }
}

// Appends the valid corners of one point.
template <class C>
inline void append_corners(const host::Footprint<C>& f, const host::Place& level, C weight, Row<C>& row) {
    const std::int64_t pixel = level.start + f.y0 * level.width + f.x0;
    const C top = weight * (C(1) - f.ly), bottom = weight * f.ly;
    const C w[4] = {top * (C(1) - f.lx), top * f.lx, bottom * (C(1) - f.lx), bottom * f.lx};
    const std::int64_t step[4] = {0, 1, level.width, level.width + 1};
    std::int64_t* pixels = row.pixel.data();
    C* weights = row.corner_weight.data();
    std::int64_t n = row.corners;
    for (unsigned c = 0; c < 4; c++) {  // written always, kept when valid: no branch to mispredict
        pixels[n] = pixel + step[c];
        weights[n] = w[c];
        n += f.valid >> c & 1u;
    }
    row.corners = n;
}

// Reads the points of levels [first, last) of a row and lists their corners.
template <class C>
inline void prepare(const Job& job, Row<C>& row, std::int64_t bq, std::int64_t head, std::size_t first,
                    std::size_t last) {
    const Problem& problem = job.problem;
    const std::int64_t begin = job.levels[first].first_point;
    const std::int64_t count = job.levels[last - 1].first_point + job.levels[last - 1].points - begin;
    const std::int64_t at = (bq * problem.heads + head) * job.points;
    if (problem.softmax) {
        read_row(problem.weight, job.tensors.weights, at, job.points, row.weight.data());
        softmax(row.weight.data(), job.points);
    } else {
        read_row(problem.weight, job.tensors.weights, at + begin, count, row.weight.data() + begin);
    }
    read_row(problem.location, job.tensors.locations, 2 * (at + begin), 2 * count, row.location.data() + 2 * begin);
    if (problem.reference != Reference::none) resolve_references(job, row, bq, first, last);
    row.corners = 0;
    for (std::size_t l = first; l < last; l++) {
        const host::Place& level = job.levels[l];
        for (std::int64_t i = level.first_point; i < level.first_point + level.points; i++) {
            const auto point = static_cast<std::size_t>(i);
            const C x = host::image_coordinate(problem.sampling, row.location[2 * point], level.width);
            const C y = host::image_coordinate(problem.sampling, row.location[2 * point + 1], level.height);
            const host::Footprint<C> f = host::footprint(problem.sampling, x, y, level);
            row.lx[point] = f.lx;
            row.ly[point] = f.ly;
            row.valid[point] = static_cast<unsigned char>(f.valid);
            append_corners(f, level, row.weight[point], row);
        }
    }
}

// Σ over corners of weight · value, channels [d, d + N · lanes); v points to channel 0 of pixel 0 of the row's head.
template <int N, class T, class C>
inline void gather_block(const Row<C>& row, const T* v, std::int64_t stride, std::int64_t d, C* out) {
    Vector<C> total[N] = {};
    const std::int64_t* pixel = row.pixel.data();
    const C* weight = row.corner_weight.data();
    for (std::int64_t i = 0; i < row.corners; i++) {
        const T* p = v + pixel[i] * stride + d;
        const Vector<C> w = broadcast(weight[i]);
        MSDA_UNROLL
        for (int k = 0; k < N; k++) total[k] = multiply_add(load(p + k * lanes<C>), w, total[k]);
    }
    MSDA_UNROLL
    for (int k = 0; k < N; k++) store_vector(out + d + k * lanes<C>, total[k]);
}

template <class T, class C>
inline void gather(const Row<C>& row, const T* v, std::int64_t stride, std::int64_t channels, C* out) {
    constexpr std::int64_t lane = lanes<C>;
    std::int64_t d = 0;
    for (; d + 8 * lane <= channels; d += 8 * lane) gather_block<8>(row, v, stride, d, out);
    for (; d + 4 * lane <= channels; d += 4 * lane) gather_block<4>(row, v, stride, d, out);
    for (; d + 2 * lane <= channels; d += 2 * lane) gather_block<2>(row, v, stride, d, out);
    for (; d + lane <= channels; d += lane) gather_block<1>(row, v, stride, d, out);
    for (; d < channels; d++) {
        C total = 0;
        for (std::int64_t i = 0; i < row.corners; i++) {
            const auto corner = static_cast<std::size_t>(i);
            total += row.corner_weight[corner] * host::widen(v[row.pixel[corner] * stride + d]);
        }
        out[d] = total;
    }
}

// row.dot[i] = g · value at corner i.
template <class T, class C>
inline void dot_corners(Row<C>& row, const T* v, std::int64_t stride, std::int64_t channels) {
    constexpr std::int64_t lane = lanes<C>;
    const C* g = row.channel.data();
    for (std::int64_t i = 0; i < row.corners; i++) {
        const T* p = v + row.pixel[static_cast<std::size_t>(i)] * stride;
        Vector<C> even = {}, odd = {};
        std::int64_t d = 0;
        for (; d + 2 * lane <= channels; d += 2 * lane) {
            even = multiply_add(load(p + d), load(g + d), even);
            odd = multiply_add(load(p + d + lane), load(g + d + lane), odd);
        }
        for (; d + lane <= channels; d += lane) even = multiply_add(load(p + d), load(g + d), even);
        C total = sum(even + odd);
        for (; d < channels; d++) total += g[d] * host::widen(p[d]);
        row.dot[static_cast<std::size_t>(i)] = total;
    }
}

// Adds weight · g at each corner; `out` is channel 0 of pixel `first`.
template <class C>
inline void scatter(const Row<C>& row, C* out, std::int64_t first, std::int64_t stride, std::int64_t channels) {
    constexpr std::int64_t lane = lanes<C>;
    const C* g = row.channel.data();
    for (std::int64_t i = 0; i < row.corners; i++) {
        C* p = out + (row.pixel[static_cast<std::size_t>(i)] - first) * stride;
        const C weight = row.corner_weight[static_cast<std::size_t>(i)];
        const Vector<C> w = broadcast(weight);
        std::int64_t d = 0;
        for (; d + lane <= channels; d += lane) store_vector(p + d, multiply_add(load(g + d), w, load(p + d)));
        for (; d < channels; d++) p[d] += weight * g[d];
    }
}
