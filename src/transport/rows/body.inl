// The row functions over Vec and Wide (sixteen f64); each instruction set's file includes this in
// its unnamed namespace.

inline double Fold(Wide w) {
  double lane[kLanes];
  StoreWide(lane, w);
  for (std::size_t h = kLanes / 2; h != 0; h /= 2) {
    for (std::size_t i = 0; i < h; ++i) lane[i] += lane[i + h];
  }
  return lane[0];
}

// Lanes past the end, so low that e^x is zero there.
constexpr float kNothing = -3.0e38f;

float AffineMax(const float* s, const float* h, float scale, std::size_t n, float* z) {
  const Vec by = Set1(scale);
  Vec most[2] = {Set1(kNothing), Set1(kNothing)};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec first = Fma(Load(s + i), by, Load(h + i));
    const Vec second = Fma(Load(s + i + kLanes), by, Load(h + i + kLanes));
    Store(z + i, first);
    Store(z + i + kLanes, second);
    most[0] = Max(most[0], first);
    most[1] = Max(most[1], second);
  }
  for (; i < n; i += kLanes) {
    const std::size_t left = n - i < kLanes ? n - i : kLanes;
    const Vec one = Fma(LoadPart(s + i, left, 0.0f), by, LoadPart(h + i, left, kNothing));
    StorePart(z + i, one, left);
    most[0] = Max(most[0], one);
  }
  return ReduceMax(Max(most[0], most[1]));
}

double ExpSum(float* z, float max, std::size_t n) {
  const Vec top = Set1(max);
  Wide sum = ZeroWide();
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {  // Two at a time share loaded constants.
    const Vec first = ExpOfNegative(Sub(Load(z + i), top));
    const Vec second = ExpOfNegative(Sub(Load(z + i + kLanes), top));
    Store(z + i, first);
    Store(z + i + kLanes, second);
    sum = AddWide(sum, first);
    sum = AddWide(sum, second);
  }
  for (; i < n; i += kLanes) {
    const std::size_t left = n - i < kLanes ? n - i : kLanes;
    const Vec one = ExpOfNegative(Sub(LoadPart(z + i, left, kNothing), top));
    StorePart(z + i, one, left);
    sum = AddWide(sum, one);
  }
  return Fold(sum);
}

void ExpSumMoment(float* z, float max, std::size_t n, double* sums) {
  const Vec top = Set1(max), least = Set1(-88.0f);
  Wide sum = ZeroWide(), moment = ZeroWide();
  for (std::size_t i = 0; i < n; i += kLanes) {
    const std::size_t left = n - i < kLanes ? n - i : kLanes;
    // What is lower has e = 0; minus infinity must not meet that zero.
    const Vec below = Max(least, Sub(LoadPart(z + i, left, kNothing), top));
    const Vec e = ExpOfNegative(below);
    StorePart(z + i, e, left);
    sum = AddWide(sum, e);
    moment = AddWide(moment, Mul(e, below));
  }
  sums[0] = Fold(sum);
  sums[1] = Fold(moment);
}

void AddWeighted(const float* e, std::size_t stride, const float* weights, std::size_t n_rows,
                 double scale, std::size_t n, double* columns) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Vec sum = Set1(0.0f);
    for (std::size_t r = 0; r < n_rows; ++r) {
      sum = Fma(Set1(weights[r]), Load(e + r * stride + i), sum);
    }
    StoreWide(columns + i, FmaWide(sum, scale, LoadWide(columns + i)));
  }
  for (; i < n; ++i) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < n_rows; ++r) {
      sum = __builtin_fmaf(weights[r], e[r * stride + i], sum);
    }
    columns[i] = __builtin_fma(static_cast<double>(sum), scale, columns[i]);
  }
}
