// Included by each instruction set's file, after its Vec.

namespace lattice::kernels {
namespace {

constexpr std::size_t kPartials = 4;  // Vecs: 64 partial sums.

inline float SumOf(const Vec (&partial)[kPartials]) {
  return ReduceAdd(Add(Add(partial[0], partial[2]), Add(partial[1], partial[3])));
}

// Calls full(i, p) for each whole Vec at element i, with the partial sum p that it belongs to, then
// part(i, p, count) for the rest of the row.
template <typename Full, typename Part>
inline void ForRow(std::size_t n, Full full, Part part) {
  std::size_t i = 0;
  for (; i + kPartials * kLanes <= n; i += kPartials * kLanes) {
    for (std::size_t p = 0; p < kPartials; ++p) full(i + p * kLanes, p);
  }
  std::size_t p = 0;
  for (; i + kLanes <= n; i += kLanes) full(i, p++);
  if (i < n) part(i, p, n - i);
}

// out = x [+ residual]; returns the mean.
inline float AddAndMean(const float* x, const float* residual, std::size_t n, float* out) {
  Vec sum[kPartials] = {Set1(0), Set1(0), Set1(0), Set1(0)};
  if (residual != nullptr) {
    ForRow(
        n,
        [&](std::size_t i, std::size_t p) {
          const Vec v = Add(Load(x + i), Load(residual + i));
          Store(out + i, v);
          sum[p] = Add(sum[p], v);
        },
        [&](std::size_t i, std::size_t p, std::size_t count) {
          const Vec v = Add(LoadPart(x + i, count, 0), LoadPart(residual + i, count, 0));
          StorePart(out + i, v, count);
          sum[p] = Add(sum[p], v);
        });
  } else {
    ForRow(
        n,
        [&](std::size_t i, std::size_t p) {
          const Vec v = Load(x + i);
          Store(out + i, v);
          sum[p] = Add(sum[p], v);
        },
        [&](std::size_t i, std::size_t p, std::size_t count) {
          const Vec v = LoadPart(x + i, count, 0);
          StorePart(out + i, v, count);
          sum[p] = Add(sum[p], v);
        });
  }
  return SumOf(sum) / static_cast<float>(n);
}

// Sum of (x - centre)^2.
inline float SumOfSquares(const float* x, float centre, std::size_t n) {
  const Vec c = Set1(centre);
  Vec sum[kPartials] = {Set1(0), Set1(0), Set1(0), Set1(0)};
  ForRow(
      n,
      [&](std::size_t i, std::size_t p) {
        const Vec d = Sub(Load(x + i), c);
        sum[p] = Fma(d, d, sum[p]);
      },
      [&](std::size_t i, std::size_t p, std::size_t count) {
        const Vec d = Sub(LoadPart(x + i, count, centre), c);
        sum[p] = Fma(d, d, sum[p]);
      });
  return SumOf(sum);
}

void LayerNormRows(const float* x, const float* residual, const float* gain, const float* bias,
                   float eps, std::size_t n_rows, std::size_t n, float* out) {
  for (std::size_t r = 0; r < n_rows; ++r, x += n, out += n) {
    const float mean = AddAndMean(x, residual, n, out);
    if (residual != nullptr) residual += n;
    const float variance = SumOfSquares(out, mean, n) / static_cast<float>(n);
    const Vec centre = Set1(mean), scale = Set1(1.0f / Sqrt(variance + eps));
    if (bias != nullptr) {
      ForRow(
          n,
          [&](std::size_t i, std::size_t) {
            const Vec v = Mul(Sub(Load(out + i), centre), scale);
            Store(out + i, Fma(v, Load(gain + i), Load(bias + i)));
          },
          [&](std::size_t i, std::size_t, std::size_t count) {
            const Vec v = Mul(Sub(LoadPart(out + i, count, 0), centre), scale);
            StorePart(out + i, Fma(v, LoadPart(gain + i, count, 0), LoadPart(bias + i, count, 0)),
                      count);
          });
    } else {
      ForRow(
          n,
          [&](std::size_t i, std::size_t) {
            Store(out + i, Mul(Mul(Sub(Load(out + i), centre), scale), Load(gain + i)));
          },
          [&](std::size_t i, std::size_t, std::size_t count) {
            const Vec v = Mul(Sub(LoadPart(out + i, count, 0), centre), scale);
            StorePart(out + i, Mul(v, LoadPart(gain + i, count, 0)), count);
          });
    }
  }
}

void RmsNormRows(const float* x, const float* add, const float* gain, float eps, std::size_t n_rows,
                 std::size_t n, std::size_t stride, float* out) {
  for (std::size_t r = 0; r < n_rows; ++r, x += stride, out += stride) {
    const float mean_square = SumOfSquares(x, 0, n) / static_cast<float>(n);
    const Vec scale = Set1(1.0f / Sqrt(mean_square + eps));
    if (add != nullptr) {
      ForRow(
          n,
          [&](std::size_t i, std::size_t) {
            Store(out + i, Fma(Mul(Load(x + i), scale), Load(gain + i), Load(add + i)));
          },
          [&](std::size_t i, std::size_t, std::size_t count) {
            const Vec v = Mul(LoadPart(x + i, count, 0), scale);
            StorePart(out + i, Fma(v, LoadPart(gain + i, count, 0), LoadPart(add + i, count, 0)),
                      count);
          });
      add += stride;
    } else {
      ForRow(
          n,
          [&](std::size_t i, std::size_t) {
            Store(out + i, Mul(Mul(Load(x + i), scale), Load(gain + i)));
          },
          [&](std::size_t i, std::size_t, std::size_t count) {
            const Vec v = Mul(LoadPart(x + i, count, 0), scale);
            StorePart(out + i, Mul(v, LoadPart(gain + i, count, 0)), count);
          });
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
