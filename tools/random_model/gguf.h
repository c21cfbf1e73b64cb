#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "lattice/result.h"
#include "tensors.h"
#include "weights/gguf_writer.h"

namespace lattice::random_model {

/// The metadata of a GGUF file of this model, with a made-up tokenizer of the right size (bytes and
/// names of nothing), so that other programs open it too. kUnsupported for encoders.
Result<weights::GgufPairs> GgufMetadataOf(const boost::json::object& config);

/// The tensor's name in such a file; its shape loses dimensions of 1. Stacked experts' gate and up
/// are one tensor in both.
Result<TensorPlan> GgufTensor(const boost::json::object& config, const TensorPlan& tensor);

}  // namespace lattice::random_model
