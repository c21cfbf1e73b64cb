// The functions over Vec; each instruction set's file includes this in its unnamed namespace. That
// file gives Root, the square root of each lane, and Transpose.

// f(first element, how many) for n elements, sixteen at a time.
template <typename F>
[[gnu::always_inline]] inline void ForLanes(std::size_t n, F f) {
  for (std::size_t i = 0; i < n; i += kLanes) f(i, n - i < kLanes ? n - i : kLanes);
}
[[gnu::always_inline]] inline Vec Take(const float* p, std::size_t n, float fill = 0.0f) {
  return n == kLanes ? Load(p) : LoadPart(p, n, fill);
}
[[gnu::always_inline]] inline void Put(float* p, Vec x, std::size_t n) {
  if (n == kLanes) {
    Store(p, x);
  } else {
    StorePart(p, x, n);
  }
}

template <typename F>
[[gnu::always_inline]] inline void MapLanes(const float* z, std::size_t n, float* y, F f) {
  ForLanes(n, [&](std::size_t i, std::size_t part) { Put(y + i, f(Take(z + i, part)), part); });
}
// d *= f(x)
template <typename F>
[[gnu::always_inline]] inline void Scale(const float* x, std::size_t n, float* d, F f) {
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    Put(d + i, Mul(Take(d + i, part), f(Take(x + i, part))), part);
  });
}

constexpr float kRootTwoOverPi = 0.7978845608f, kCubic = 0.044715f;

inline Vec GeluTanh(Vec z) {
  const Vec inner = Fma(Mul(z, z), Set1(kCubic), Set1(1.0f));
  return Tanh()(Mul(Mul(z, Set1(kRootTwoOverPi)), inner));
}

void Activate(UnitKind kind, float slope, const float* z, std::size_t n, float* y) {
  const Vec zero = Set1(0.0f), one = Set1(1.0f), half = Set1(0.5f);
  switch (kind) {
    case UnitKind::kSigmoid:
      return MapLanes(z, n, y, [](Vec x) { return Sigmoid(x); });
    case UnitKind::kTanh:
      return MapLanes(z, n, y, [](Vec x) { return Tanh()(x); });
    case UnitKind::kRelu:
      // A NaN passes as the second operand.
      return MapLanes(z, n, y, [&](Vec x) { return Max(zero, x); });
    case UnitKind::kLeakyRelu: {
      const Vec by = Set1(slope);
      return MapLanes(z, n, y, [&](Vec x) { return Select(Less(zero, x), x, Mul(x, by)); });
    }
    case UnitKind::kGelu:
      return MapLanes(z, n, y, [&](Vec x) { return Mul(Mul(x, half), Add(one, GeluTanh(x))); });
    case UnitKind::kSilu:
      return MapLanes(z, n, y, [](Vec x) { return Mul(x, Sigmoid(x)); });
    case UnitKind::kLinear:
    case UnitKind::kSoftmax:
      return MapLanes(z, n, y, [](Vec x) { return x; });
  }
}

void ActivateBack(UnitKind kind, float slope, const float* z, const float* y, std::size_t n,
                  float* d) {
  const Vec zero = Set1(0.0f), one = Set1(1.0f), half = Set1(0.5f);
  switch (kind) {
    case UnitKind::kSigmoid:
      return Scale(y, n, d, [&](Vec s) { return NegFma(s, s, s); });
    case UnitKind::kTanh:
      return Scale(y, n, d, [&](Vec t) { return NegFma(t, t, one); });
    case UnitKind::kRelu:
      return Scale(z, n, d, [&](Vec x) { return Select(Less(zero, x), one, zero); });
    case UnitKind::kLeakyRelu: {
      const Vec by = Set1(slope);
      return Scale(z, n, d, [&](Vec x) { return Select(Less(zero, x), one, by); });
    }
    case UnitKind::kGelu:
      return Scale(z, n, d, [&](Vec x) {
        const Vec t = GeluTanh(x);
        const Vec rise = Mul(Fma(Mul(x, x), Set1(3 * kCubic), one), Set1(kRootTwoOverPi));
        const Vec bend = Mul(Mul(Mul(half, x), NegFma(t, t, one)), rise);
        return Fma(half, Add(one, t), bend);
      });
    case UnitKind::kSilu:
      return Scale(z, n, d, [&](Vec x) {
        const Vec s = Sigmoid(x);
        return Fma(Mul(x, s), Sub(one, s), s);
      });
    case UnitKind::kLinear:
    case UnitKind::kSoftmax:
      return;
  }
}

// Lanes past the end, so low that e^x is zero there.
constexpr float kNothing = -3.0e38f;

void Softmax(const float* z, std::size_t n, float* y, float* max_and_sum) {
  Vec most = Set1(kNothing);
  ForLanes(n,
           [&](std::size_t i, std::size_t part) { most = Max(most, Take(z + i, part, kNothing)); });
  const float max = ReduceMax(most);
  const Vec top = Set1(max);
  Vec sums = Set1(0.0f);
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    const Vec e = ExpOfNegative(Sub(Take(z + i, part, kNothing), top));
    Put(y + i, e, part);
    sums = Add(sums, e);
  });
  const float sum = ReduceAdd(sums);
  const Vec by = Set1(1.0f / sum);
  MapLanes(y, n, y, [&](Vec e) { return Mul(e, by); });
  max_and_sum[0] = max;
  max_and_sum[1] = sum;
}

void SoftmaxBack(const float* y, std::size_t n, float* d) {
  Vec sums = Set1(0.0f);
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    sums = Fma(Take(d + i, part), Take(y + i, part), sums);
  });
  const Vec mean = Set1(ReduceAdd(sums));
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    Put(d + i, Mul(Take(y + i, part), Sub(Take(d + i, part), mean)), part);
  });
}

float Normalise(const float* z, std::size_t n, float epsilon, float* unit) {
  Vec sums = Set1(0.0f), squares = Set1(0.0f);
  ForLanes(n, [&](std::size_t i, std::size_t part) { sums = Add(sums, Take(z + i, part)); });
  const float mean = ReduceAdd(sums) / static_cast<float>(n);
  const Vec centre = Set1(mean);
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    const Vec x = Sub(Take(z + i, part, mean), centre);
    squares = Fma(x, x, squares);
  });
  const float factor = 1.0f / Sqrt(ReduceAdd(squares) / static_cast<float>(n) + epsilon);
  const Vec by = Set1(factor);
  MapLanes(z, n, unit, [&](Vec x) { return Mul(Sub(x, centre), by); });
  return factor;
}

void Affine(const float* x, const float* gain, const float* shift, std::size_t n, float* y) {
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    Put(y + i, Fma(Take(x + i, part), Take(gain + i, part), Take(shift + i, part)), part);
  });
}

void NormaliseBack(const float* unit, const float* gain, float inverse_deviation, std::size_t n,
                   float* d) {
  Vec sums = Set1(0.0f), dots = Set1(0.0f);
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    const Vec g = Mul(Take(d + i, part), Take(gain + i, part));
    sums = Add(sums, g);
    dots = Fma(g, Take(unit + i, part), dots);
  });
  const float per = 1.0f / static_cast<float>(n);
  const Vec mean = Set1(ReduceAdd(sums) * per), along = Set1(ReduceAdd(dots) * per);
  const Vec by = Set1(inverse_deviation);
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    const Vec g = Mul(Take(d + i, part), Take(gain + i, part));
    Put(d + i, Mul(by, NegFma(Take(unit + i, part), along, Sub(g, mean))), part);
  });
}

void Multiply(const float* x, std::size_t n, float* y) {
  Scale(x, n, y, [](Vec v) { return v; });
}

void ColumnSums(const float* x, std::size_t stride, std::size_t n_rows, std::size_t n, float* out) {
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    Vec sum = Set1(0.0f);
    for (std::size_t r = 0; r < n_rows; ++r) sum = Add(sum, Take(x + r * stride + i, part));
    Put(out + i, sum, part);
  });
}

void ColumnDots(const float* x, const float* y, std::size_t stride, std::size_t n_rows,
                std::size_t n, float* out) {
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    Vec sum = Set1(0.0f);
    for (std::size_t r = 0; r < n_rows; ++r) {
      sum = Fma(Take(x + r * stride + i, part), Take(y + r * stride + i, part), sum);
    }
    Put(out + i, sum, part);
  });
}

float Poison(const float* x, std::size_t n) {
  const Vec zero = Set1(0.0f);
  Vec sum = zero;
  ForLanes(n, [&](std::size_t i, std::size_t part) { sum = Fma(Take(x + i, part), zero, sum); });
  return ReduceAdd(sum);
}

float SumSquares(const float* x, std::size_t n) {
  Vec sum = Set1(0.0f);
  ForLanes(n, [&](std::size_t i, std::size_t part) {
    const Vec v = Take(x + i, part);
    sum = Fma(v, v, sum);
  });
  return ReduceAdd(sum);
}

inline Vec Gradient(const UpdateArgs& a, std::size_t i, std::size_t part, Vec p) {
  return Fma(p, Set1(a.l2), Mul(Take(a.g + i, part), Set1(a.scale)));
}

void Sgd(const UpdateArgs& a) {
  const Vec keep = Set1(a.keep), rate = Set1(a.rate);
  ForLanes(a.n, [&](std::size_t i, std::size_t part) {
    const Vec p = Take(a.p + i, part);
    Put(a.p + i, NegFma(rate, Gradient(a, i, part, p), Mul(keep, p)), part);
  });
}

void Momentum(const UpdateArgs& a) {
  const Vec keep = Set1(a.keep), rate = Set1(a.rate), beta = Set1(a.beta1);
  ForLanes(a.n, [&](std::size_t i, std::size_t part) {
    const Vec p = Take(a.p + i, part);
    const Vec v = Fma(beta, Take(a.first + i, part), Gradient(a, i, part, p));
    Put(a.first + i, v, part);
    Put(a.p + i, NegFma(rate, v, Mul(keep, p)), part);
  });
}

void Adam(const UpdateArgs& a) {
  const Vec keep = Set1(a.keep), rate = Set1(a.rate);
  const Vec beta1 = Set1(a.beta1), rest1 = Set1(1.0f - a.beta1);
  const Vec beta2 = Set1(a.beta2), rest2 = Set1(1.0f - a.beta2);
  const Vec root = Set1(a.inverse_root), epsilon = Set1(a.epsilon);
  ForLanes(a.n, [&](std::size_t i, std::size_t part) {
    const Vec p = Take(a.p + i, part), g = Gradient(a, i, part, p);
    const Vec m = Fma(beta1, Take(a.first + i, part), Mul(rest1, g));
    const Vec v = Fma(beta2, Take(a.second + i, part), Mul(Mul(rest2, g), g));
    Put(a.first + i, m, part);
    Put(a.second + i, v, part);
    const Vec step = Div(Mul(rate, m), Fma(Root(v), root, epsilon));
    Put(a.p + i, Sub(Mul(keep, p), step), part);
  });
}

void RmsProp(const UpdateArgs& a) {
  const Vec keep = Set1(a.keep), rate = Set1(a.rate), epsilon = Set1(a.epsilon);
  const Vec beta2 = Set1(a.beta2), rest2 = Set1(1.0f - a.beta2);
  ForLanes(a.n, [&](std::size_t i, std::size_t part) {
    const Vec p = Take(a.p + i, part), g = Gradient(a, i, part, p);
    const Vec v = Fma(beta2, Take(a.second + i, part), Mul(Mul(rest2, g), g));
    Put(a.second + i, v, part);
    Put(a.p + i, Sub(Mul(keep, p), Div(Mul(rate, g), Add(Root(v), epsilon))), part);
  });
}
