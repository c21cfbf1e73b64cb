#include "models/rope.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "models/config.h"

namespace lattice::models {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;

/// context.head_dim times its rotating part, rounded down.
std::size_t RotaryDim(const RopeContext& context) {
  return static_cast<std::size_t>(static_cast<double>(context.head_dim) * context.partial);
}

/// theta^(-2j / dim) for j < n, in double so that rounding to float happens once.
std::vector<double> Frequencies(double theta, std::size_t dim, std::size_t n) {
  std::vector<double> inv(n);
  for (std::size_t j = 0; j < inv.size(); ++j) {
    inv[j] = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(dim));
  }
  return inv;
}

std::vector<double> BaseFrequencies(const RopeContext& context) {
  const std::size_t dim = RotaryDim(context);
  return Frequencies(context.theta, dim, dim / 2);
}

RopeTable Round(const std::vector<double>& inv, double scale) {
  RopeTable table;
  for (const double value : inv) table.inv_freq.push_back(static_cast<float>(value));
  table.scale = static_cast<float>(scale);
  return table;
}

/// A number in [min, max]; required unless there is a fallback.
Result<double> Bounded(const JsonView& scaling, std::string_view key, double min, double max,
                       std::optional<double> fallback = std::nullopt) {
  const auto found = scaling.Find(key);
  if (!found && fallback) return *fallback;
  LATTICE_TRY(const JsonView value, scaling.Get(key));
  LATTICE_TRY(const double number, value.Number());
  if (number >= min && number <= max) return number;
  return Error{ErrorCode::kCorruptData, value.where() + ": " + std::to_string(number) +
                                            " is outside " + std::to_string(min) + " to " +
                                            std::to_string(max)};
}

constexpr double kMaxFactor = 1e6;
constexpr double kMaxTheta = 1e15;

Result<RopeTable> Linear(const JsonView& scaling, const RopeContext& context) {
  LATTICE_TRY(const double factor, Bounded(scaling, "factor", 1e-6, kMaxFactor));
  std::vector<double> inv = BaseFrequencies(context);
  for (double& value : inv) value /= factor;
  return Round(inv, 1.0);
}

/// Long wavelengths are stretched by the factor, short ones kept, those between blended.
Result<RopeTable> Llama3(const JsonView& scaling, const RopeContext& context) {
  LATTICE_TRY(const double factor, Bounded(scaling, "factor", 1e-6, kMaxFactor));
  LATTICE_TRY(const double low, Bounded(scaling, "low_freq_factor", 1e-6, kMaxFactor));
  LATTICE_TRY(const double high, Bounded(scaling, "high_freq_factor", 1e-6, kMaxFactor));
  LATTICE_TRY(const double old, Bounded(scaling, "original_max_position_embeddings", 1, 1e9));
  if (!(high > low)) {
    return scaling.Complain("expected high_freq_factor above low_freq_factor");
  }
  std::vector<double> inv = BaseFrequencies(context);
  for (double& value : inv) {
    const double turns = old * value / kTwoPi;  // within the original context
    if (turns > high) continue;
    const double kept = turns < low ? 0.0 : (turns - low) / (high - low);
    value = (1.0 - kept) * value / factor + kept * value;
  }
  return Round(inv, 1.0);
}

double YarnMagnitude(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

Result<double> YarnScale(const JsonView& scaling, double factor) {
  if (scaling.Find("attention_factor")) return Bounded(scaling, "attention_factor", 1e-6, 1e6);
  LATTICE_TRY(const double m, Bounded(scaling, "mscale", 0, 1e3, 0.0));
  LATTICE_TRY(const double m_all, Bounded(scaling, "mscale_all_dim", 0, 1e3, 0.0));
  if (m > 0 && m_all > 0) return YarnMagnitude(factor, m) / YarnMagnitude(factor, m_all);
  return YarnMagnitude(factor, 1.0);
}

Result<RopeTable> Yarn(const JsonView& scaling, const RopeContext& context) {
  if (!(context.theta > 1.0)) return scaling.Complain("yarn needs a rope_theta above 1");
  const auto max = static_cast<double>(context.max_positions);
  LATTICE_TRY(const double old, Bounded(scaling, "original_max_position_embeddings", 1, 1e9, max));
  LATTICE_TRY(const double factor, Bounded(scaling, "factor", 1e-6, kMaxFactor, max / old));
  LATTICE_TRY(const double fast, Bounded(scaling, "beta_fast", 1e-6, 1e6, 32.0));
  LATTICE_TRY(const double slow, Bounded(scaling, "beta_slow", 1e-6, 1e6, 1.0));
  LATTICE_TRY(const bool truncate, scaling.BoolOr("truncate", true));
  LATTICE_TRY(const double scale, YarnScale(scaling, factor));

  const auto dim = static_cast<double>(RotaryDim(context));
  const auto pair_that_turns = [&](double turns) {
    return dim * std::log(old / (turns * kTwoPi)) / (2.0 * std::log(context.theta));
  };
  double low = pair_that_turns(fast), high = pair_that_turns(slow);
  if (truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;
  std::vector<double> inv = BaseFrequencies(context);
  for (std::size_t j = 0; j < inv.size(); ++j) {
    const double ramp = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    inv[j] *= (1.0 - ramp) + ramp / factor;
  }
  return Round(inv, scale);
}

RopeTable Dynamic(const RopeContext& context) {
  RopeTable table = MakePlainRopeTable(context);
  table.max_positions = context.max_positions;
  return table;
}

/// Divisors of the frequencies, one for each pair.
Result<std::vector<double>> ReadDivisors(const JsonView& scaling, std::string_view key,
                                         std::size_t n) {
  LATTICE_TRY(const JsonView list, scaling.Get(key));
  LATTICE_TRY(const std::vector<JsonView> items, list.Array());
  if (items.size() != n) {
    return WrongAt(
        list, "expected " + std::to_string(n) + " numbers, found " + std::to_string(items.size()));
  }
  std::vector<double> divisors;
  for (const JsonView& item : items) {
    LATTICE_TRY(const double divisor, item.Number());
    if (!(divisor > 0)) return item.Complain("expected a number above 0");
    divisors.push_back(divisor);
  }
  return divisors;
}

Result<RopeTable> LongRope(const JsonView& scaling, const RopeContext& context) {
  const auto max = static_cast<double>(context.max_positions);
  LATTICE_TRY(const double old, Bounded(scaling, "original_max_position_embeddings", 1, 1e9, max));
  LATTICE_TRY(const double factor, Bounded(scaling, "factor", 1e-6, kMaxFactor, max / old));
  const double by_length =
      factor <= 1.0 || old <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(old));
  LATTICE_TRY(const double scale, Bounded(scaling, "attention_factor", 1e-6, 1e6, by_length));
  std::vector<double> inv = BaseFrequencies(context);
  LATTICE_TRY(const std::vector<double> divisors,
              ReadDivisors(scaling, "short_factor", inv.size()));
  for (std::size_t j = 0; j < inv.size(); ++j) inv[j] /= divisors[j];
  RopeTable table = Round(inv, scale);
  table.max_positions = static_cast<std::size_t>(old);
  return table;
}

Result<RopeTable> Proportional(const JsonView& scaling, const RopeContext& context) {
  LATTICE_TRY(const double factor, Bounded(scaling, "factor", 1e-6, kMaxFactor, 1.0));
  std::vector<double> inv = Frequencies(context.theta, context.head_dim, RotaryDim(context) / 2);
  for (double& value : inv) value /= factor;
  inv.resize(context.head_dim / 2);  // the others stay
  return Round(inv, 1.0);
}

/// partial_rotary_factor of the object, which must leave whole pairs to turn.
Status ReadPartial(const JsonView& scaling, RopeContext& context) {
  LATTICE_TRY(context.partial,
              Bounded(scaling, "partial_rotary_factor", 0.0, 1.0, context.partial));
  const std::size_t dim = RotaryDim(context);
  if (dim >= 2 && dim % 2 == 0) return Ok();
  return WrongAt(scaling, "partial_rotary_factor " + std::to_string(context.partial) +
                              " of a head of " + std::to_string(context.head_dim) + " turns " +
                              std::to_string(dim) + " values; expected an even number from 2");
}

/// The base, from the object itself or from the older key beside it; both must agree.
Result<double> ReadTheta(const JsonView& config, const std::optional<JsonView>& object,
                         const RopeKeys& keys) {
  const auto outer = config.Find(keys.theta_key);
  const auto inner = object ? object->Find("rope_theta") : std::nullopt;
  if (!inner && !outer) {
    if (keys.default_theta > 0) return keys.default_theta;
    return config.Complain("missing '" + std::string(keys.theta_key) + "'");
  }
  double theta = 0;
  if (outer) {
    LATTICE_TRY(theta, Bounded(config, keys.theta_key, 1.0, kMaxTheta));
  }
  if (!inner) return theta;
  LATTICE_TRY(const double value, Bounded(*object, "rope_theta", 1.0, kMaxTheta));
  if (!outer || theta == value) return value;
  return Error{ErrorCode::kCorruptData, inner->where() + ": " + std::to_string(value) +
                                            " contradicts " + std::string(keys.theta_key) + ": " +
                                            std::to_string(theta)};
}

/// The JSON object that holds the scaling of these layers, if there is one.
Result<std::optional<JsonView>> FindScaling(const JsonView& config, const RopeKeys& keys) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const auto found = config.Find(key);
    if (!found) continue;
    if (!found->IsObject()) return found->Complain("expected an object");
    if (const auto nested = found->Find("full_attention"); nested && !keys.layer_type.empty()) {
      LATTICE_TRY(const JsonView own, found->Get(keys.layer_type));
      if (!own.IsObject()) return own.Complain("expected an object");
      return std::optional(own);
    }
    if (key == "rope_parameters" || keys.scaled) return found;
  }
  return std::optional<JsonView>();
}

}  // namespace

RopeTable MakePlainRopeTable(const RopeContext& context) {
  return Round(BaseFrequencies(context), 1.0);
}

Result<RopeTable> MakeRopeTable(const JsonView& scaling, RopeContext context) {
  LATTICE_TRY_VOID(ReadPartial(scaling, context));
  const auto newer = scaling.Find("rope_type");
  const auto named = newer ? newer : scaling.Find("type");
  if (!named) return MakePlainRopeTable(context);
  LATTICE_TRY(const std::string_view type, named->String());
  if (type == "default") return MakePlainRopeTable(context);
  if (type == "linear") return Linear(scaling, context);
  if (type == "llama3") return Llama3(scaling, context);
  if (type == "yarn") return Yarn(scaling, context);
  if (type == "dynamic") return Dynamic(context);
  if (type == "longrope") return LongRope(scaling, context);
  if (type == "proportional") return Proportional(scaling, context);
  return Error{ErrorCode::kUnsupported,
               named->where() + ": unknown rotary scaling '" + std::string(type) +
                   "'; known: default, linear, llama3, yarn, dynamic, longrope, proportional"};
}

/// partial_rotary_factor beside the object, where older files keep it.
Result<double> ReadOuterPartial(const JsonView& config, const std::optional<JsonView>& object,
                                double fallback) {
  LATTICE_TRY(const double outer, Bounded(config, "partial_rotary_factor", 0.0, 1.0, fallback));
  if (!object || !config.Find("partial_rotary_factor")) return outer;
  LATTICE_TRY(const double inner, Bounded(*object, "partial_rotary_factor", 0.0, 1.0, outer));
  if (inner == outer) return outer;
  return WrongAt(*object, "partial_rotary_factor " + std::to_string(inner) +
                              " contradicts the config's own " + std::to_string(outer));
}

Result<RopeTable> ReadRope(const JsonView& config, const RopeKeys& keys, std::size_t head_dim,
                           std::size_t max_positions) {
  LATTICE_TRY(const std::optional<JsonView> object, FindScaling(config, keys));
  RopeContext context{.head_dim = head_dim, .max_positions = max_positions};
  LATTICE_TRY(context.theta, ReadTheta(config, object, keys));
  LATTICE_TRY(context.partial, ReadOuterPartial(config, object, keys.default_partial));
  const boost::json::value none = boost::json::object();
  return MakeRopeTable(object ? *object : JsonView(none, config.where()), context);
}

}  // namespace lattice::models
