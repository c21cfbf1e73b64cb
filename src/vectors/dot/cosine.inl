// The cosine of the sums a.b, a.a and b.b; each includer has it in a namespace of its own.

// Sums of squares in this range, and their product, lost nothing to underflow or overflow that f32
// would not lose anyway. False for NaN, and for zero.
inline bool IsSafe(float sum_of_squares) {
  return sum_of_squares >= 1e-18f && sum_of_squares <= 1e18f;
}

// In [-1, 1]; NaN where the sums are not safe. Of a vector and itself: 1, because the root of a
// rounded square is the number.
inline float CosineOfSafeSums(float a_dot_b, float a_dot_a, float b_dot_b) {
  if (!IsSafe(a_dot_a) || !IsSafe(b_dot_b)) return __builtin_nanf("");
  const float ratio = a_dot_b / __builtin_sqrtf(a_dot_a * b_dot_b);
  const float low = ratio < -1.0f ? -1.0f : ratio;
  return low > 1.0f ? 1.0f : low;
}
