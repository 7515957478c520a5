// The three loops over rows. Included inside the namespace of kernels_*.cpp, after rows.inl.

// Channel 0 of pixel 0 of an image's head.
template <class T>
inline const T* values_of(const Job& job, std::int64_t image, std::int64_t head) {
    return static_cast<const T*>(job.tensors.value) + image * job.strides[0] + head * job.strides[2];
}

template <class T>
void forward(const Job& job, std::int64_t begin, std::int64_t end) {
    using C = host::Accumulator<T>;
    const Problem& problem = job.problem;
    const std::int64_t channels = problem.head_dim;
    Row<C> row(job.points, channels);
    for (std::int64_t bq = begin; bq < end; bq++)
        for (std::int64_t head = 0; head < problem.heads; head++) {
            prepare(job, row, bq, head, 0, job.levels.size());
            C* out = row.channel.data();
            gather(row, values_of<T>(job, bq / problem.queries, head), job.strides[1], channels, out);
            if (problem.value == Type::e4m3) {
                const C scale = static_cast<C>(static_cast<const float*>(job.tensors.scales)[head]);
                for (std::int64_t d = 0; d < channels; d++) out[d] *= scale;
            }
            write_row(problem.output, job.tensors.output, (bq * problem.heads + head) * channels, channels, out);
        }
}

// From the corners' dot products of a point (the next ones of the list, moved past) to its three derivatives.
template <class C>
struct Derivatives {
    C weight = 0, x = 0, y = 0;  // of the weight and, per unit of location, of the location
};
template <class C>
inline Derivatives<C> differentiate(Sampling sampling, const Row<C>& row, std::size_t point, const host::Place& level,
                                    const C*& dot) {
    C s[4] = {};
    for (unsigned c = 0; c < 4; c++)
        if (row.valid[point] >> c & 1u) s[c] = *dot++;
    if (sampling != Sampling::bilinear) return {s[0], 0, 0};
    if (row.valid[point] == 0)
        return {};  // a NaN weight must not reach the zero gradient of a point that takes no part
    const C lx = row.lx[point], ly = row.ly[point], a = row.weight[point];
    Derivatives<C> d;
    d.x = a * static_cast<C>(level.width) * ((s[1] - s[0]) * (1 - ly) + (s[3] - s[2]) * ly);
    d.y = a * static_cast<C>(level.height) * ((s[2] - s[0]) * (1 - lx) + (s[3] - s[1]) * lx);
    for (unsigned c = 0; c < 4; c++)
        if (row.valid[point] >> c & 1u) d.weight += (c & 1u ? lx : 1 - lx) * (c & 2u ? ly : 1 - ly) * s[c];
    return d;
}

// Turns d/d location of a point into d/d offset, in place, and adds to its reference's gradient.
template <class C>
inline void chain_reference(const Job& job, const Row<C>& row, std::int64_t bq, std::size_t level_index, std::int64_t p,
                            C* d, double* sums) {
    const Problem& problem = job.problem;
    const host::Place& level = job.levels[level_index];
    const std::int64_t components = host::reference_components(problem);
    const std::int64_t index = host::reference_of(problem, static_cast<std::int64_t>(level_index), p);
    double* sum = sums + index * components;
    const C extent[2] = {static_cast<C>(level.width), static_cast<C>(level.height)};
    C reference[4] = {};
    read_row(problem.location, job.tensors.references, (bq * host::references_per_query(problem) + index) * components,
             components, reference);
    for (std::int64_t axis = 0; axis < 2; axis++) {
        sum[axis] += static_cast<double>(d[axis]);
        if (components == 4) {
            const C offset = row.offset[static_cast<std::size_t>(2 * (level.first_point + p) + axis)];
            const C share = C(0.5) / static_cast<C>(level.points);
            sum[axis + 2] += static_cast<double>(d[axis] * offset * share);
            d[axis] *= reference[axis + 2] * share;
        } else {
            d[axis] /= extent[axis];
        }
    }
}

// Fills point_gradient and weight_gradient of a prepared row whose dot products are known.
template <class C>
inline void differentiate_row(const Job& job, Row<C>& row, std::int64_t bq, double* sums) {
    const Problem& problem = job.problem;
    const C* dot = row.dot.data();
    C weighted = 0;
    for (std::size_t l = 0; l < job.levels.size(); l++)
        for (std::int64_t p = 0; p < job.levels[l].points; p++) {
            const auto point = static_cast<std::size_t>(job.levels[l].first_point + p);
            const Derivatives<C> d = differentiate(problem.sampling, row, point, job.levels[l], dot);
            C* xy = row.point_gradient.data() + 2 * point;
            xy[0] = d.x;
            xy[1] = d.y;
            const bool moves = problem.sampling == Sampling::bilinear && row.valid[point] != 0;
            if (problem.reference != Reference::none && moves) chain_reference(job, row, bq, l, p, xy, sums);
            row.weight_gradient[point] = d.weight;
            weighted += row.weight[point] * d.weight;
        }
    if (!problem.softmax) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(job.points); i++)
        row.weight_gradient[i] = row.weight[i] * (row.weight_gradient[i] - weighted);
}

template <class T>
void point_gradients(const Job& job, std::int64_t begin, std::int64_t end) {
    using C = host::Accumulator<T>;
    const Problem& problem = job.problem;
    const Tensors& tensors = job.tensors;
    const std::int64_t channels = problem.head_dim;
    const std::int64_t references = host::references_per_query(problem) * host::reference_components(problem);
    Row<C> row(job.points, channels);
    std::vector<double> sums(static_cast<std::size_t>(references));
    for (std::int64_t bq = begin; bq < end; bq++) {
        for (double& sum : sums) sum = 0;
        for (std::int64_t head = 0; head < problem.heads; head++) {
            const std::int64_t at = bq * problem.heads + head;
            prepare(job, row, bq, head, 0, job.levels.size());
            read_row(problem.output, tensors.grad_output, at * channels, channels, row.channel.data());
            dot_corners(row, values_of<T>(job, bq / problem.queries, head), job.strides[1], channels);
            differentiate_row(job, row, bq, sums.data());
            if (problem.gradients.location)
                write_row(problem.location, tensors.grad_locations, 2 * at * job.points, 2 * job.points,
                          row.point_gradient.data());
            if (problem.gradients.weight)
                write_row(problem.weight, tensors.grad_weights, at * job.points, job.points,
                          row.weight_gradient.data());
        }
        if (problem.gradients.location && references > 0 && tensors.grad_references != nullptr)
            write_row(problem.location, tensors.grad_references, bq * references, references, sums.data());
    }
}

// Adds a slice's sums into `out`, which starts at pixel `first`, `stride` elements a pixel.
template <class C>
inline void scatter_slice(const Job& job, const Slice& slice, C* out, std::int64_t first, std::int64_t stride) {
    const Problem& problem = job.problem;
    Row<C> row(job.points, problem.head_dim);
    for (std::int64_t query = 0; query < problem.queries; query++) {
        const std::int64_t bq = slice.image * problem.queries + query;
        prepare(job, row, bq, slice.head, slice.first, slice.last);
        if (row.corners == 0) continue;
        read_row(problem.output, job.tensors.grad_output, (bq * problem.heads + slice.head) * problem.head_dim,
                 problem.head_dim, row.channel.data());
        scatter(row, out, first, stride, problem.head_dim);
    }
}

template <class T>
void value_gradient(const Job& job, const Slice& slice) {
    using C = host::Accumulator<T>;
    const Problem& problem = job.problem;
    const std::int64_t channels = problem.head_dim, stride = problem.heads * channels;
    T* gradient =
        static_cast<T*>(job.tensors.grad_value) + slice.image * problem.pixels * stride + slice.head * channels;
    if constexpr (sizeof(T) == sizeof(C)) {
        scatter_slice<C>(job, slice, gradient, 0, stride);
    } else {
        std::int64_t begin = problem.pixels, end = 0;
        for (std::size_t l = slice.first; l < slice.last; l++) {
            const host::Place& level = job.levels[l];
            const std::int64_t past = level.start + level.height * level.width;
            begin = level.start < begin ? level.start : begin;
            end = past > end ? past : end;
        }
        std::vector<C> sums(static_cast<std::size_t>((end - begin) * channels));
        scatter_slice<C>(job, slice, sums.data(), begin, channels);
        for (std::int64_t pixel = begin; pixel < end; pixel++)
            narrow_all(sums.data() + (pixel - begin) * channels, channels, gradient + pixel * stride);
    }
}

template <class T>
Kernels kernels_of() {
    if constexpr (sizeof(T) == 1)
        return {forward<T>, nullptr, nullptr};  // e4m3: forward only
    else
        return {forward<T>, point_gradients<T>, value_gradient<T>};
}
